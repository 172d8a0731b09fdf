//! Newton's method: the analytic centre of a polytope, by `hessian` and `solve`.
//!
//! The point of $\{ x : A x < b \}$ that is farthest from all faces, in the sense that it minimises
//! the barrier
//!
//! $$ f(x) = - \sum_i \log (b_i - a_i \cdot x), $$
//!
//! is found by steps $-(\nabla^2 f)^{-1} \nabla f$ along which $f$ decreases at the rate $\lambda^2 =
//! \nabla f \cdot (\nabla^2 f)^{-1} \nabla f$. A step shortened by $1 / (1 + \lambda)$ never leaves
//! the polytope and always decreases $f$ (Nesterov and Nemirovskii), so no line search is needed;
//! near the minimum full steps square the distance each time.

use std::error::Error;

use cotan::prelude::*;
use cotan::random::Key;

const DIMENSION: usize = 3;
/// Faces in random directions, besides those of a cube around them.
const CUTS: usize = 6;
const MAX_STEPS: usize = 30;
const TOLERANCE: f64 = 1e-12;

/// The points $x$ with $A x < b$.
#[derive(Arrays, Clone, Copy, Debug, PartialEq)]
pub struct Polytope<A> {
    /// A row for each face, of length 1 and orthogonal to it: $A$.
    pub directions: A,
    /// How far the faces are from the origin: $b$.
    pub distances: A,
}

/// The barrier $f$; NaN outside of the polytope.
pub fn barrier(x: Arr<f64>, faces: Polytope<Arr<f64>>) -> Arr<f64> {
    -(faces.distances - faces.directions.matmul(x)).log().sum()
}

/// The point after a step, with the barrier and $\lambda$ before it.
///
/// Gradient and Hessian are applied like any functions. What they have in common is found in the
/// program, and computed once.
pub fn newton_step(x: Arr<f64>, faces: Polytope<Arr<f64>>) -> (Arr<f64>, Arr<f64>, Arr<f64>) {
    let (value, slope) = value_and_grad(barrier).at((x, faces));
    let direction = hessian(barrier).at((x, faces)).solve(slope);
    let lambda = slope.dot(direction).sqrt();
    // Far from the minimum a part of the step, near it all of it.
    let part = select(lambda.gt(0.25), 1.0 / (1.0 + lambda), 1.0);
    (x - part * direction, value, lambda)
}

/// A cube from -2 to 2, cut by random planes at a distance between 0.5 and 1.5 from the origin.
pub fn polytope(key: Key) -> cotan::Result<Polytope<Tensor<f64>>> {
    let [directions, distances] = key.split_into();
    let made = |random: Arr<f64>, distances: Arr<f64>| {
        let unit = random / random.norm_keep(1);
        let cube = eye::<f64>(DIMENSION);
        Polytope {
            directions: concat(&[cube, -cube, unit], 0),
            distances: concat(&[full([2 * DIMENSION], 2.0), distances], 0),
        }
    };
    let random = directions.normal::<f64>([CUTS, DIMENSION])?;
    jit(made).call((random, distances.uniform_in::<f64>([CUTS], 0.5, 1.5)?))
}

/// Steps until the decrement is as good as 0.
pub fn main() -> Result<(), Box<dyn Error>> {
    let faces = polytope(Key::new(4))?;
    // No face is nearer than 0.5 to the origin, so this is inside.
    let mut x = Tensor::from([0.25; DIMENSION]);

    let step = compile_like(newton_step, (&x, &faces))?;
    for count in 0..MAX_STEPS {
        let (next, value, lambda) = step.call((&x, &faces))?;
        let lambda = lambda.item().unwrap_or(f64::NAN);
        let value = value.item().unwrap_or(f64::NAN);
        println!("step {count:2}: barrier {value:.12}, decrement {lambda:.1e}");
        if lambda <= TOLERANCE {
            println!("centre: {:.6?}", x.to_vec());
            return Ok(());
        }
        x = next;
    }
    Err(format!("no centre was found within {MAX_STEPS} steps").into())
}
