//! Bundle adjustment: cameras and points from where the points appear in the images.
//!
//! A camera has a rotation vector $r$, a translation $t$, a focal length $f$ and a radial distortion
//! $\kappa$. It sees the point $X$ at
//!
//! $$ \pi(X) = f \, (1 + \kappa \lVert p \rVert^2) \, p, \qquad p = (P_1, P_2) / P_3, \quad
//!    P = R(r) X + t, $$
//!
//! where $R(r)$ turns by the angle $\theta = \lVert r \rVert$ about $w = r / \theta$: $R(r) X = X \cos
//! \theta + (w \times X) \sin \theta + w \, (w \cdot X) (1 - \cos \theta)$. Given observations $z_o$
//! of point $j_o$ in camera $i_o$, the sum of the squares of the residuals $\pi_{i_o}(X_{j_o}) - z_o$
//! is minimised by the method of Levenberg and Marquardt: steps that solve
//!
//! $$ (J^T J + \lambda \operatorname{diag} J^T J) \, \delta = - J^T r. $$
//!
//! The Jacobian $J$ is sparse: a residual depends on one camera and one point only. Its two blocks
//! for one observation are the Jacobian of one small function, and all of them a `build` of that over
//! the observations; no array ever holds the zeros in between. The points are then eliminated (the
//! Schur complement): with $J^T J = \begin{pmatrix} U & W \\ W^T & V \end{pmatrix}$, where $V$ has a
//! block of $3 \times 3$ for each point, what remains is a system in the cameras alone,
//! $(U - W V^{-1} W^T) \, \delta_c = g_c - W V^{-1} g_p$.

use std::error::Error;

use cotan::prelude::*;
use cotan::random::Key;
use cotan::structure::zip_tensors;

const CAMERAS: usize = 3;
const POINTS: usize = 8;
/// What a camera has: rotation, translation, focal length, distortion.
const PARAMETERS: usize = 8;
const MAX_STEPS: usize = 25;

/// All that is unknown.
#[derive(Arrays, Clone, Copy, Debug, PartialEq)]
pub struct Scene<A> {
    /// `[CAMERAS, PARAMETERS]`.
    pub cameras: A,
    /// `[POINTS, 3]`.
    pub points: A,
}

/// What was seen, one row for each observation.
#[derive(Arrays, Clone, Copy, Debug, PartialEq)]
pub struct Observations<I, A> {
    /// Which camera, `[n]`.
    pub camera: I,
    /// Which point, `[n]`.
    pub point: I,
    /// Where in the image, `[n, 2]`.
    pub at: A,
}

/// The point turned by a rotation vector.
fn rotated(r: Arr<f64>, x: Arr<f64>) -> Arr<f64> {
    let angle = r.norm();
    let axis = r / angle;
    let (sin, cos) = (angle.sin(), angle.cos());
    let turned = x * cos + axis.cross(x) * sin + axis * axis.dot(x) * (1.0 - cos);
    // Without an angle there is no axis, but a derivative: that of the first-order rotation. Of what
    // is not selected nothing comes back, not even NaN.
    select(angle.gt(0.0), turned, x + r.cross(x))
}

/// Where a camera sees a point.
pub fn projected(camera: Arr<f64>, point: Arr<f64>) -> Arr<f64> {
    let seen = rotated(camera.slice(s![..3]), point) + camera.slice(s![3..6]);
    let p = seen.slice(s![..2]) / seen.at(2);
    let (focal, distortion) = (camera.at(6), camera.at(7));
    focal * (1.0 + distortion * p.dot(p)) * p
}

/// Where all observed points should be seen, `[n, 2]`.
pub fn projections(scene: Scene<Arr<f64>>, camera: Arr<i64>, point: Arr<i64>) -> Arr<f64> {
    build(camera.len(), |o| projected(scene.cameras.at(camera.at(o)), scene.points.at(point.at(o))))
}

/// Half the sum of the squares of the residuals.
pub fn cost(scene: Scene<Arr<f64>>, seen: Observations<Arr<i64>, Arr<f64>>) -> Arr<f64> {
    0.5 * (projections(scene, seen.camera, seen.point) - seen.at).square().sum()
}

/// The blocks of the Jacobian that are not zero: for each observation the derivatives of both
/// coordinates by its camera, `[n, 2, PARAMETERS]`, and by its point, `[n, 2, 3]`.
pub fn jacobian_blocks(
    scene: Scene<Arr<f64>>,
    camera: Arr<i64>,
    point: Arr<i64>,
) -> (Arr<f64>, Arr<f64>) {
    let blocks = jacobian(projected).wrt(AllArgs);
    build(camera.len(), |o| {
        blocks.at((scene.cameras.at(camera.at(o)), scene.points.at(point.at(o))))
    })
}

/// Matrices with their diagonals enlarged by the factor $1 + \lambda$.
fn damped(blocks: Arr<f64>, lambda: Arr<f64>) -> Arr<f64> {
    let [_, n, _] = blocks.dims();
    blocks * (1.0 + lambda * eye(n))
}

/// The scene after a step of Levenberg and Marquardt.
pub fn step(
    scene: Scene<Arr<f64>>,
    seen: Observations<Arr<i64>, Arr<f64>>,
    lambda: Arr<f64>,
) -> Scene<Arr<f64>> {
    let ([cameras, parameters], points) = (scene.cameras.dims(), scene.points.len());
    let (a, b) = jacobian_blocks(scene, seen.camera, seen.point);
    let residual = projections(scene, seen.camera, seen.point) - seen.at;

    // The blocks of J^T J and -J^T r: sums over the observations of a camera, a point, or a pair.
    let products = |x, y| einsum("orx,ory->oxy", &[x, y]);
    let gradient = |x| -einsum("orx,or->ox", &[x, residual]);
    let u = damped(products(a, a).segment_sum(seen.camera, cameras), lambda);
    let v = damped(products(b, b).segment_sum(seen.point, points), lambda);
    let pairs = (seen.camera, seen.point);
    let w = scatter_add([cameras, points, parameters, 3], pairs, products(a, b));
    let g_camera = gradient(a).segment_sum(seen.camera, cameras);
    let g_point = gradient(b).segment_sum(seen.point, points);

    // The system in the cameras, whose unknowns are numbered by camera and parameter.
    let w_v = einsum("cpxi,pij->cpxj", &[w, v.inverse()]);
    let coupled = einsum("cpxj,dpyj->cxdy", &[w_v, w]);
    let own = build([cameras, cameras], |[c, d]| select(c.eq(d), u.at(c), 0.0));
    let unknowns = cameras * parameters;
    let matrix = (own.permute([0, 2, 1, 3]) - coupled).reshape([unknowns, unknowns]);
    let right = (g_camera - einsum("cpxj,pj->cx", &[w_v, g_point])).reshape([unknowns]);
    let d_camera = matrix.solve(right).reshape([cameras, parameters]);
    // The points follow from the cameras, each by itself.
    let d_point = v.solve((g_point - einsum("cpxi,cx->pi", &[w, d_camera])).expand_dims(2));

    Scene { cameras: scene.cameras + d_camera, points: scene.points + d_point.squeeze(2) }
}

/// Three cameras around eight points near the origin, each of which sees all.
pub fn scene(key: Key) -> cotan::Result<Scene<Tensor<f64>>> {
    // Cameras stand at a distance of about 5, turned by up to half a radian.
    let usual = [0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 1.0, 0.1];
    let spread = [0.5, 0.5, 0.5, 0.3, 0.3, 0.3, 0.1, 0.05];
    let [cameras, points] = key.split_into();
    let random = cameras.uniform_in::<f64>([CAMERAS, PARAMETERS], -1.0, 1.0)?;
    let around = |random: Arr<f64>| constant(usual) + constant(spread) * random;
    Ok(Scene {
        cameras: jit(around).call(random)?,
        points: points.uniform_in([POINTS, 3], -1.0, 1.0)?,
    })
}

/// What the cameras of a scene see: all of the points, exactly.
pub fn observe(
    scene: &Scene<Tensor<f64>>,
) -> cotan::Result<Observations<Tensor<i64>, Tensor<f64>>> {
    let all = CAMERAS * POINTS;
    let camera = Tensor::from_fn([all], |o| (o[0] / POINTS) as i64)?;
    let point = Tensor::from_fn([all], |o| (o[0] % POINTS) as i64)?;
    let at = jit(projections).call((scene, &camera, &point))?;
    Ok(Observations { camera, point, at })
}

/// Finds a scene again from a start that is wrong.
pub fn main() -> Result<(), Box<dyn Error>> {
    let [made, wrong] = Key::new(5).split_into();
    let truth = scene(made)?;
    let seen = observe(&truth)?;

    // A start that is wrong by a few percent everywhere.
    let noise = Scene {
        cameras: wrong.normal([CAMERAS, PARAMETERS])?,
        points: wrong.fold_in(1).normal([POINTS, 3])?,
    };
    let mut scene = zip_tensors(&truth, &noise, |x, e| x + 0.03 * e)?;

    let cost = compile_like(cost, (&scene, &seen))?;
    let step = compile_like(step, (&scene, &seen, 0.0))?;
    let cost_of = |scene: &Scene<Tensor<f64>>| -> cotan::Result<f64> {
        Ok(cost.call((scene, &seen))?.item().unwrap_or(f64::NAN))
    };
    let first = cost_of(&scene)?;
    let (mut current, mut lambda) = (first, 1e-3);
    for count in 0..MAX_STEPS {
        println!("step {count:2}: cost {current:.3e}, damping {lambda:.0e}");
        if current <= 1e-12 * first {
            return Ok(());
        }
        let next = step.call((&scene, &seen, lambda))?;
        let reached = cost_of(&next)?;
        // A step that brings nothing is tried again, shorter; one that does lets the next be longer.
        if reached < current {
            (scene, current, lambda) = (next, reached, lambda / 10.0);
        } else {
            lambda *= 10.0;
        }
    }
    Err(format!("the cost fell from {first:.3e} to {current:.3e} only").into())
}
