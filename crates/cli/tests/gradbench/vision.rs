//! `ba` and `ht`.

use serde_json::{Value, json};

use super::complex::{Complex, Number, along, columns, complex, dot, sum};
use super::eval::{Eval, Numbers, agree};

fn cross<N: Number>(a: &[N], b: &[N]) -> [N; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// The rotation around a vector by its length, as a matrix; `None` for no rotation.
fn rotation<N: Number>(v: &[N]) -> Option<Vec<Vec<N>>> {
    let squared = dot(v, v);
    if squared.re() < 1e-8 {
        return None;
    }
    let angle = squared.sqrt();
    let a: Vec<N> = v.iter().map(|x| *x / angle).collect();
    let unit = |i: usize| (0..3).map(|j| N::from(f64::from(u8::from(i == j)))).collect::<Vec<_>>();
    // The columns are the rotated unit vectors, by Rodrigues' formula.
    let column = |j: usize| {
        let (e, along) = (unit(j), a[j] * (N::from(1.0) - angle.cos()));
        let turned = cross(&a, &e);
        (0..3)
            .map(|i| e[i] * angle.cos() + turned[i] * angle.sin() + a[i] * along)
            .collect::<Vec<_>>()
    };
    let columns: Vec<Vec<N>> = (0..3).map(column).collect();
    Some((0..3).map(|i| columns.iter().map(|c| c[i]).collect()).collect())
}

/// The error of an observation: camera (11), point (3), weight.
fn reprojection<N: Number>(feat: &[f64], p: &[N]) -> Vec<N> {
    let (cam, x, w) = (&p[..11], &p[11..14], p[14]);
    let apart: Vec<N> = (0..3).map(|i| x[i] - cam[3 + i]).collect();
    let seen = match rotation(&cam[..3]) {
        Some(rotation) => rotation.iter().map(|row| dot(row, &apart)).collect(),
        None => {
            let turned = cross(&cam[..3], &apart);
            (0..3).map(|i| apart[i] + turned[i]).collect::<Vec<_>>()
        }
    };
    let (u, v) = (seen[0] / seen[2], seen[1] / seen[2]);
    let r = u.square() + v.square();
    let stretch = cam[6] * (N::from(1.0) + cam[9] * r + cam[10] * r.square());
    let error = |x: N, k: usize| w * (x * stretch + cam[7 + k] - N::from(feat[k]));
    vec![error(u, 0), error(v, 1)]
}

#[test]
fn bundles() {
    let mut eval = Eval::of("ba");
    for (n, m, p, rotated) in
        [(1, 1, 1, true), (2, 3, 7, true), (4, 9, 30, true), (2, 2, 12, false)]
    {
        let mut numbers = Numbers::new(p as u64);
        let mut cam = numbers.list(11);
        if !rotated {
            cam[..3].fill(0.0);
        }
        let (x, w, feat) = (numbers.list(3), numbers.next(), numbers.list(2));
        let input = json!({"n": n, "m": m, "p": p, "cam": cam, "x": x, "w": w, "feat": feat});
        let q = [cam, x, vec![w]].concat();
        let errors: Vec<f64> =
            reprojection(&feat, &complex(&q)).iter().map(|y: &Complex| y.re()).collect();
        let expected = json!({
            "reproj_error": {"elements": errors, "repeated": p},
            "w_err": {"element": 1.0 - w * w, "repeated": p},
        });
        agree(&eval.output("ba", "objective", &input), &expected, 1e-12);

        // Compressed rows of the whole matrix, and then the part that is told.
        let block = columns(&q, |q| reprojection(&feat, q));
        let (mut rows, mut cols, mut vals) = (vec![0], Vec::new(), Vec::new());
        for i in 0..p {
            for k in 0..2 {
                cols.extend((0..11).map(|j| 11 * (i % n) + j));
                cols.extend((0..3).map(|j| 11 * n + 3 * (i % m) + j));
                cols.push(11 * n + 3 * m + i);
                vals.extend(block.iter().map(|column| column[k]));
                rows.push(cols.len());
            }
        }
        for i in 0..p {
            cols.push(11 * n + 3 * m + i);
            vals.push(-2.0 * w);
            rows.push(cols.len());
        }
        let expected = json!({"rows": told(&rows), "cols": told(&cols), "vals": told(&vals)});
        agree(&eval.output("ba", "jacobian", &input), &expected, 1e-11);
    }
}

/// The first 30 of all, and the last.
fn told<T: Clone>(all: &[T]) -> Vec<T> {
    all.iter().take(30).chain(all.last()).cloned().collect()
}

struct Hand {
    parents: Vec<i64>,
    relatives: Vec<Vec<Vec<f64>>>,
    inverses: Vec<Vec<Vec<f64>>>,
    positions: Vec<Vec<f64>>,
    weights: Vec<Vec<f64>>,
    triangles: Vec<Vec<usize>>,
    mirrored: bool,
    correspondences: Vec<usize>,
    points: Vec<Vec<f64>>,
}

fn product<N: Number>(a: &[Vec<N>], b: &[Vec<N>]) -> Vec<Vec<N>> {
    let entry = |row: &[N], j: usize| sum(row.iter().zip(b).map(|(x, y)| *x * y[j]));
    a.iter().map(|row| (0..b[0].len()).map(|j| entry(row, j)).collect()).collect()
}

fn lift<N: Number>(a: &[Vec<f64>]) -> Vec<Vec<N>> {
    a.iter().map(|row| row.iter().map(|x| N::from(*x)).collect()).collect()
}

/// The rotation in the plane of two axes, as a 4 by 4 matrix.
fn turn<N: Number>(angle: N, from: usize, to: usize) -> Vec<Vec<N>> {
    let mut matrix = lift(&[[1.0, 0.0], [0.0, 1.0]].map(|row| row.to_vec()));
    matrix = (0..4)
        .map(|i| (0..4).map(|j| if i == j { matrix[0][0] } else { matrix[0][1] }).collect())
        .collect();
    (matrix[from][from], matrix[to][to]) = (angle.cos(), angle.cos());
    (matrix[to][from], matrix[from][to]) = (angle.sin(), -angle.sin());
    matrix
}

impl Hand {
    fn new(seed: u64, bones: usize, vertices: usize, count: usize, corners: bool) -> Hand {
        let mut numbers = Numbers::new(seed);
        let mut square = || (0..bones).map(|_| numbers.matrix(4, 4)).collect::<Vec<_>>();
        let (relatives, inverses) = (square(), square());
        let mut positions = numbers.matrix(vertices, 4);
        positions.iter_mut().for_each(|p| p[3] = 1.0);
        let weights = numbers.matrix(vertices, bones);
        let triangles: Vec<Vec<usize>> =
            (0..vertices).map(|i| (0..3).map(|k| (i * i + k) % vertices).collect()).collect();
        let correspondences = (0..count).map(|i| (3 * i + 1) % vertices).collect();
        let parents = (0..bones).map(|i| if i % 5 == 1 { 0 } else { i as i64 - 1 }).collect();
        let points = numbers.matrix(count, 3);
        let mirrored = corners;
        Hand {
            parents,
            relatives,
            inverses,
            positions,
            weights,
            triangles,
            mirrored,
            correspondences,
            points,
        }
    }

    fn input(&self, theta: &[f64], us: &[Vec<f64>]) -> Value {
        let names: Vec<String> = (0..self.parents.len()).map(|i| format!("bone {i}")).collect();
        json!({
            "theta": theta,
            "us": us,
            "data": {
                "model": {
                    "bone_count": self.parents.len(), "bone_names": names, "parents": self.parents,
                    "base_relatives": self.relatives, "inverse_base_absolutes": self.inverses,
                    "base_positions": self.positions, "weights": self.weights,
                    "triangles": self.triangles, "is_mirrored": self.mirrored,
                },
                "correspondences": self.correspondences,
                "points": self.points,
            },
        })
    }

    /// The errors of all points; `p` holds theta, and then the pairs `us`, if there are any.
    fn errors<N: Number>(&self, p: &[N]) -> Vec<N> {
        let (theta, us) = p.split_at(26);
        let mut angles = vec![[N::from(0.0); 3]; self.parents.len().max(21)];
        let mut next = theta[6..].iter();
        for finger in 0..5 {
            for joint in 2..5 {
                angles[4 * finger + joint][0] = *next.next().unwrap();
                if joint == 2 {
                    angles[4 * finger + joint][1] = *next.next().unwrap();
                }
            }
        }
        let mut absolutes: Vec<Vec<Vec<N>>> = Vec::new();
        for (bone, parent) in self.parents.iter().enumerate() {
            let [x, z, y] = angles[bone];
            let turned = product(&product(&turn(z, 0, 1), &turn(y, 2, 0)), &turn(x, 1, 2));
            let relative = product(&lift(&self.relatives[bone]), &turned);
            absolutes.push(match usize::try_from(*parent) {
                Ok(parent) => product(&absolutes[parent], &relative),
                Err(_) => relative,
            });
        }
        let hand = rotation(&theta[..3]);
        let vertex = |v: usize| -> Vec<N> {
            let mut place = vec![N::from(0.0); 3];
            for (bone, absolute) in absolutes.iter().enumerate() {
                let transform = product(absolute, &lift(&self.inverses[bone]));
                let position = lift(&[self.positions[v].clone()]);
                let weight = N::from(self.weights[v][bone]);
                for (place, row) in place.iter_mut().zip(&transform) {
                    *place = *place + weight * dot(row, &position[0]);
                }
            }
            if self.mirrored {
                place[0] = -place[0];
            }
            let turned = match &hand {
                Some(rotation) => rotation.iter().map(|row| dot(row, &place)).collect(),
                None => place,
            };
            turned.iter().zip(&theta[3..6]).map(|(x, t): (&N, _)| *x + *t).collect()
        };
        let mut errors = Vec::new();
        for (i, (at, point)) in self.correspondences.iter().zip(&self.points).enumerate() {
            let place = match us.get(2 * i..2 * i + 2) {
                None => vertex(*at),
                Some(u) => {
                    let shares = [u[0], u[1], N::from(1.0) - u[0] - u[1]];
                    let corners: Vec<Vec<N>> =
                        self.triangles[*at].iter().map(|v| vertex(*v)).collect();
                    (0..3).map(|k| sum((0..3).map(|c| shares[c] * corners[c][k]))).collect()
                }
            };
            errors.extend((0..3).map(|k| N::from(point[k]) - place[k]));
        }
        errors
    }
}

#[test]
fn hands() {
    let mut eval = Eval::of("ht");
    for (bones, vertices, count, corners, still) in [
        (22, 30, 4, false, false),
        (22, 30, 4, true, false),
        (22, 12, 3, true, true),
        (3, 5, 1, false, false),
    ] {
        let hand = Hand::new(count as u64, bones, vertices, count, corners);
        let mut numbers = Numbers::new(9);
        let mut theta = numbers.list(26);
        if still {
            theta[..3].fill(0.0);
        }
        let us = if corners { numbers.matrix(count, 2) } else { Vec::new() };
        let (input, p) = (hand.input(&theta, &us), [theta, us.concat()].concat());
        let errors: Vec<f64> = hand.errors(&complex(&p)).iter().map(|y: &Complex| y.re()).collect();
        agree(&eval.output("ht", "objective", &input), &json!(errors), 1e-11);

        // Columns: all first coordinates at once, all second ones, and each parameter.
        let direction = |chosen: &dyn Fn(usize) -> bool| -> Vec<f64> {
            let unit: Vec<f64> = (0..p.len()).map(|k| f64::from(u8::from(chosen(k)))).collect();
            along(&p, &unit, |p| hand.errors(p))
        };
        let pairs = (0..2).filter(|_| corners).map(|c| direction(&|k| k >= 26 && k % 2 == c));
        let columns: Vec<Vec<f64>> = pairs.chain((0..26).map(|c| direction(&|k| k == c))).collect();
        let rows: Vec<Vec<f64>> =
            (0..3 * count).map(|i| columns.iter().map(|column| column[i]).collect()).collect();
        agree(&eval.output("ht", "jacobian", &input), &json!(rows), 1e-11);
    }
}
