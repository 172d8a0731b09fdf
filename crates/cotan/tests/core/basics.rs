//! The core of the Rust library: staging, structures, derivatives, errors.

use crate::support::check;
use cotan::prelude::*;

#[test]
fn oracles_accept_what_is_right() {
    check(
        |a: Arr<f64>, b: Arr<f64>| (a * b).sin().sum_axis(0),
        ([[0.5, 1.0], [2.0, 3.0]], [1.5, -1.0]),
    );
    check(
        |a: Arr<f64>| {
            let n = a.len();
            build(n, |i| a.at(i) * a.at(n - 1 - i)).sum()
        },
        [1.0, 2.0, 3.0, 4.0, 5.0],
    );
}

#[test]
fn compiled_functions_cross_threads() {
    fn crosses<T: Send + Sync>(_: &T) {}
    let f = compile(|x: Arr<f64>| x * 2.0, [3]).unwrap();
    crosses(&f);
    crosses(&jit(|x: Arr<f64>| x + 1.0));
    std::thread::scope(|scope| {
        for k in 0..3 {
            let f = &f;
            scope.spawn(move || {
                let y = f.call([f64::from(k), 0.0, 1.0]).unwrap();
                assert_eq!(y.to_vec(), [f64::from(2 * k), 0.0, 2.0]);
            });
        }
    });
}

#[test]
fn derivatives_nest_in_any_order() {
    let cube = |x: Arr<f64>| x * x * x;
    assert_eq!(grad(grad(cube)).call(2.0).unwrap(), 12.0);
    assert_eq!(grad(grad(grad(cube))).call(2.0).unwrap(), 6.0);
    let (_, second) = jvp(grad(cube)).call((2.0, 1.0)).unwrap();
    assert_eq!(second, 12.0);
    // A build of gradients.
    let each = jit(move |x: Arr<f64>| build(x.len(), |i| grad(cube).at(x.at(i))));
    assert_eq!(each.call([1.0, 2.0, 3.0]).unwrap().to_vec(), [3.0, 12.0, 27.0]);
    // A gradient of a build of gradients.
    let total = grad(move |x: Arr<f64>| build(x.len(), |i| grad(cube).at(x.at(i))).sum());
    assert_eq!(total.call([1.0, 2.0]).unwrap().to_vec(), [6.0, 12.0]);
    // The inner derivative does not see the outer variable as its own.
    let confused = grad(|x: Arr<f64>| x * grad(move |y: Arr<f64>| x + y).at(1.0f64 * x));
    assert_eq!(confused.call(3.0).unwrap(), 1.0);
}

/// The types of a closure's arguments may come from the call, and errors have the library's type.
#[test]
fn closures_need_no_types_that_a_call_says() {
    assert_eq!(jit(|x, y| x + y).call((1.0, 2.0)).unwrap(), 3.0);
    let asked = |x: Arr<f64>| {
        if x.item()? > 0.0 {
            return Ok(x);
        }
        Ok(-x)
    };
    assert_eq!(cotan::eager::run(asked, -2.0).unwrap(), 2.0);
}
