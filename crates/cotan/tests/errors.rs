//! What mistakes are answered with: the full texts, read as a user reads them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use cotan::prelude::*;
use cotan::{Error, ErrorKind, Result, RunOptions};

/// Each error with a title. Instead of file, line and column stands the line of code itself, so that
/// the texts also show whether it is the right one.
fn texts(errors: &[(&str, Error)]) -> String {
    let shown = errors.iter().map(|(title, error)| {
        let text = error.to_string();
        let Some(location) = error.location() else { return format!("# {title}\n{text}\n") };
        assert_eq!(location.file(), file!());
        let place = format!("{}:{}:{}", location.file(), location.line(), location.column());
        let line = include_str!("errors.rs").lines().nth(location.line() as usize - 1).unwrap();
        format!("# {title}\n{}\n", text.replace(&place, &format!("`{}`", line.trim())))
    });
    shown.collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn failed<T>(result: Result<T>) -> Error {
    match result {
        Ok(_) => panic!("this should have failed"),
        Err(error) => error,
    }
}

/// The error of a function of an array of shape `[2, 3]`.
#[track_caller]
fn of_matrix<R: Arrays>(f: impl Fn(Arr<f64>) -> R) -> Error {
    failed(compile(f, [2, 3]))
}

#[test]
fn operators_say_both_shapes() {
    let b = || zeros::<f64>([4]);
    insta::assert_snapshot!(texts(&[
        ("addition", of_matrix(|a| a + b())),
        ("a number on the left", of_matrix(|a| 2.0 * a - b())),
        ("division of integers", of_matrix(|a| a.cast::<i64>() / iota(4))),
        ("truth values", of_matrix(|a| a.gt(0.0) & b().gt(0.0))),
        ("comparison", of_matrix(|a| a.lt(b()))),
        ("selection, mask and first", of_matrix(|a| select(b().gt(0.0), a, 0.0))),
        ("selection, first and second", of_matrix(|a| select(a.at(0).gt(0.0), a, b()))),
        ("sum of an iterator", of_matrix(|a| [a, b()].into_iter().sum::<Arr<f64>>())),
        ("method of two", of_matrix(|a| a.atan2(b()))),
    ]));
}

#[test]
fn shapes_and_axes() {
    insta::assert_snapshot!(texts(&[
        ("axis beyond the last", of_matrix(|a| a.sum_axis(2))),
        ("axis before the first", of_matrix(|a| a.sum_axis(-3))),
        ("axis of a scalar", of_matrix(|a| a.sum().sum_axis(0))),
        ("axis twice", of_matrix(|a| a.sum_axis([1, -1]))),
        (
            "too many sizes",
            of_matrix(|a| {
                let [n, m, k] = a.dims();
                a * (n * m * k) as f64
            })
        ),
        (
            "too few sizes",
            of_matrix(|a| {
                let [n] = a.dims();
                a * n as f64
            })
        ),
        ("length of a scalar", of_matrix(|a| a * a.sum().len() as f64)),
    ]));
}

#[test]
fn indices() {
    insta::assert_snapshot!(texts(&[
        ("more components than axes", of_matrix(|a| a.at((0, 1, 2)))),
        ("component with axes", of_matrix(|a| a.at(iota(2)))),
        ("component of a scalar", of_matrix(|a| a.sum().at(0))),
        ("size that no index holds", of_matrix(|a| a.at(usize::MAX))),
        ("elements of different shapes", of_matrix(|a| build(2, |i| a.at(i) + zeros::<f64>(2)))),
    ]));
}

#[test]
fn handles_outside_their_place() {
    let leaked: Cell<Option<Arr<f64>>> = Cell::new(None);
    let index = of_matrix(|a| {
        build(2, |i| {
            let row = a.at(i);
            leaked.set(Some(row));
            row
        });
        leaked.get().map_or(a, |row| row + 1.0)
    });
    let result = of_matrix(|a| {
        build(2, |i| leaked.set(Some(a.at(i))));
        leaked.get().unwrap_or(a)
    });
    let other_build = of_matrix(|a| {
        build(2, |i| leaked.set(Some(a.at(i))));
        build(2, |_| leaked.get().unwrap_or(a) * 2.0)
    });
    let from_derivative = of_matrix(|a| {
        let inner = |x: Arr<f64>| {
            leaked.set(Some(x * x));
            x
        };
        grad(inner).at(a.sum()) + leaked.get().unwrap_or(a)
    });
    compile(|x: Arr<f64>| leaked.set(Some(x)), [2, 3]).unwrap();
    let ended = of_matrix(|a| a * leaked.get().unwrap_or(a));
    let ended_result = of_matrix(|a| leaked.get().unwrap_or(a));
    let around = |a: Arr<f64>| compile(move |x: Arr<f64>| x + a, [2, 3])?.apply(a);
    let enclosing = failed(compile(around, [2, 3]));
    insta::assert_snapshot!(texts(&[
        ("element of a `build` that has ended", index),
        ("the same, as the result", result),
        ("the same, in another `build`", other_build),
        ("variable of a derivative", from_derivative),
        ("array of a function that was compiled before", ended),
        ("the same, as the result", ended_result),
        ("array of the function around", enclosing),
    ]));
}

#[derive(Arrays, Clone)]
struct Model<A> {
    layers: Vec<(A, A)>,
    scale: A,
    #[arrays(skip)]
    steps: usize,
}

fn model(sizes: &[usize], scale: Tensor<f64>, steps: usize) -> Model<Tensor<f64>> {
    let layer = |&n: &usize| (Tensor::zeros([n, n]).unwrap(), Tensor::zeros(n).unwrap());
    Model { layers: sizes.iter().map(layer).collect(), scale, steps }
}

#[test]
fn calls_with_what_a_function_was_not_compiled_for() {
    let one = compile(|a: Arr<f64>| a.sum(), [2, 3]).unwrap();
    let two = compile(|a: Arr<f64>, b: Arr<f64>| a.sum() + b, ([2], ())).unwrap();
    let applied = |a: Arr<f64>| two.apply((a, a));
    let row = Tensor::from([1.0, 2.0, 3.0]);
    let loss = |m: Model<Arr<f64>>, x: Arr<f64>| m.scale * x;
    let good = model(&[2, 3], 1.0.into(), 4);
    let of_model = compile_like(loss, (&good, 1.0)).unwrap();
    let models = [
        ("vector of another length", model(&[2], 1.0.into(), 4)),
        ("leaf of another shape", model(&[2, 4], 1.0.into(), 4)),
        ("scalar that is an array", model(&[2, 3], Tensor::from([1.0]), 4)),
        ("skipped field", model(&[2, 3], 1.0.into(), 5)),
    ];
    let mut errors = vec![
        ("another shape", failed(one.call([[1.0, 2.0], [3.0, 4.0]]))),
        ("another rank", failed(one.call(&row))),
        ("second of two arguments", failed(two.call(([1.0, 2.0], &row)))),
        ("applied to another shape", failed(compile(applied, [2, 3]))),
    ];
    errors.extend(models.iter().map(|(title, m)| (*title, failed(of_model.call((m, 1.0))))));
    insta::assert_snapshot!(texts(&errors));
}

#[test]
fn derivatives() {
    let square = |x: Arr<f64>| x * x;
    let pick = |i: Arr<i64>, x: Arr<f64>| x.at(i);
    let of_pair = |p: (Arr<i64>, Arr<f64>)| p.1.at(p.0);
    let count = |x: Arr<f64>| (x, x.cast::<i64>());
    let pair = |x: Arr<f64>, y: Arr<f64>| (x * 2.0, y);
    let inside = of_matrix(|a| {
        let gradient = grad(square).at(a);
        gradient.sum_axis(7)
    });
    insta::assert_snapshot!(texts(&[
        ("loss with axes", failed(grad(square).call([1.0, 2.0]))),
        ("loss with axes, value and gradient", failed(value_and_grad(square).call([1.0, 2.0]))),
        ("by an integer", failed(grad(pick).call((1, [1.0, 2.0])))),
        ("by a part that is an integer", failed(jacobian(of_pair).call((1, [1.0])))),
        ("result that is an integer", failed(jacrev(count).call(1.0))),
        ("cotangent of another shape", failed(vjp(square).call(([1.0, 2.0], [1.0])))),
        ("cotangent of a part", failed(vjp(pair).call(((1.0, 2.0), (1.0, [1.0]))))),
        ("tangent of another shape", failed(jvp(square).call(([1.0, 2.0], 1.0)))),
        ("nothing to differentiate by", failed(grad(|_: (), x: Arr<f64>| x).call(((), 1.0)))),
        ("inside another function", inside),
        ("error inside", failed(grad(|x: Arr<f64>| (x + zeros::<f64>(3)).sum()).call([1.0, 2.0]))),
    ]));
}

#[test]
fn limits() {
    fn nested(depth: usize, x: Arr<f64>) -> Arr<f64> {
        if depth == 0 { x } else { build(1, |_| nested(depth - 1, x)) }
    }
    let long = 1usize << 40;
    let sum = compile(|x: Arr<f64>| build(1000, |i| x * i.cast::<f64>()).sum(), [100]).unwrap();
    let small = RunOptions { max_bytes: Some(500), ..RunOptions::default() };
    let x = Tensor::zeros(100).unwrap();
    let texts = texts(&[
        ("sizes that cannot be counted", of_matrix(|_| zeros::<f64>([long, long]))),
        ("an argument that cannot be", failed(compile(|x: Arr<f64>| x, [usize::MAX, 2]))),
        ("a tensor that cannot be", failed(Tensor::<f64>::zeros([long, long]))),
        ("a tensor that is too large", failed(Tensor::<f64>::zeros(long))),
        ("too many axes", failed(compile(|x: Arr<f64>| x, vec![1; 65]))),
        ("nesting", of_matrix(|a| nested(61, a))),
        ("deep nesting", of_matrix(|a| nested(1000, a))),
        ("memory of a run", failed(sum.call_with(&small, &x))),
    ]);
    // Each backend needs another amount.
    let needed = format!("needs {} bytes at once", sum.cost().peak_bytes);
    assert!(texts.contains(&needed), "{texts}");
    insta::assert_snapshot!(texts.replace(&needed, "needs (so many) bytes at once"));
}

#[test]
fn functions_that_fail_themselves() {
    let refuse = |x: Arr<f64>| -> Result<Arr<f64>> {
        let known = Error::new(ErrorKind::Data, "model", "there are no weights for 2 inputs");
        if x.len() == 2 { Err(known.with_hint("train it first")) } else { Ok(x) }
    };
    let inner = move |x: Arr<f64>| -> Result<Arr<f64>> { Ok(refuse(x)?.sum()) };
    assert_eq!(jit(refuse).call([1.0]).unwrap().to_vec(), [1.0]);
    // The first error counts, and a panic that follows from it is not another one.
    let first = of_matrix(|a| {
        let wrong = a + zeros::<f64>(4);
        let sizes = wrong.shape();
        wrong * sizes[1] as f64 + zeros::<f64>(5)
    });
    insta::assert_snapshot!(texts(&[
        ("an error of the function", failed(compile(refuse, 2))),
        ("the same, when called", failed(jit(refuse).call([1.0, 2.0]))),
        ("the same, in a derivative", failed(grad(inner).call([1.0, 2.0]))),
        ("an error, then a panic", first),
    ]));
}

#[test]
fn panics_of_the_function_pass_unchanged() {
    let odd = |x: Arr<f64>| if x.len() == 3 { panic!("three of them") } else { x };
    let caught = catch_unwind(AssertUnwindSafe(|| compile(odd, 3).map(drop)));
    let payload = caught.unwrap_err();
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"three of them"));
    // Nothing is left of the stage.
    assert_eq!(jit(odd).call([1.0, 2.0]).unwrap().to_vec(), [1.0, 2.0]);
    let inside = |x: Arr<f64>| build(3, |i| grad(move |y: Arr<f64>| odd(x).sum() * y).at(x.at(i)));
    assert!(catch_unwind(AssertUnwindSafe(|| jit(inside).call([1.0; 3]).map(drop))).is_err());
    assert_eq!(jit(|x: Arr<f64>| x.sum()).call([1.0, 2.0]).unwrap(), 3.0);
}

#[test]
fn data() {
    let folder = std::env::temp_dir().join(format!("cotan-errors-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("model.npz");
    save_npz(&file, &model(&[2, 3], 1.0.into(), 4)).unwrap();
    let text = |error: Error| {
        let text = texts(&[("", error)]);
        text.replace(&folder.display().to_string(), "folder").replace("# \n", "")
    };
    let missing = folder.join("nothing.npz");
    std::fs::write(folder.join("text.npz"), "not an archive").unwrap();
    std::fs::write(folder.join("text.npy"), "not an array").unwrap();
    let like = |sizes: &[usize]| model(sizes, 1.0.into(), 4);
    let shown = [
        text(failed(load_npz_like(&missing, &like(&[2])))),
        text(failed(load_npz_like(folder.join("text.npz"), &like(&[2])))),
        text(failed(load_npz_like(&file, &like(&[2, 4, 5])))),
        text(failed(load_npz_like(&file, &like(&[2])))),
        text(failed(load_npz_like(&file, &Tensor::from(1.0f32)))),
        text(failed(load_npz_like(&file, &like(&[1; 7])))),
        text(failed(save_npz(folder.join("no/such.npz"), &like(&[1])))),
        text(failed(Tensor::<f64>::read_npy(folder.join("text.npy")))),
        text(failed(Tensor::<f64>::read_npy(folder.join("none.npy")))),
        text(failed(Tensor::new([2, 3], vec![1.0]))),
        text(failed(Tensor::try_from(vec![vec![1.0, 2.0], vec![], vec![1.0]]))),
        text(failed(Tensor::try_from(vec![vec![vec![1], vec![2]], vec![vec![3], vec![4, 5]]]))),
        text(failed(Tensor::try_from(vec![vec![vec![1]], vec![vec![3], vec![4]]]))),
    ];
    std::fs::remove_dir_all(&folder).unwrap();
    insta::assert_snapshot!(shown.join("\n"));
}

/// The environment is read once, so that each value needs a process of its own: this test calls
/// itself.
#[test]
fn backends_that_there_are_not() {
    const NAME: &str = "backends_that_there_are_not";
    let variable = std::env::var("COTAN_BACKEND");
    if variable.as_deref() == Ok("gpu") {
        let error = of_matrix(|a| a + 1.0);
        assert_eq!(error.kind(), ErrorKind::Data);
        let text = error.to_string();
        for part in ["COTAN_BACKEND", "gpu", "jit, vm or interp"] {
            assert!(text.contains(part), "{text}");
        }
        return;
    }
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", NAME])
        .env("COTAN_BACKEND", "gpu")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}
