//! What a new user may do wrong: nothing panics, nothing is silently wrong, and messages help.

use std::panic::{AssertUnwindSafe, catch_unwind};

use cotan::prelude::*;
use cotan::random::Key;
use cotan::{Error, ErrorKind, Result, eager};

fn failed<T: std::fmt::Debug>(result: Result<T>) -> Error {
    match result {
        Err(error) => error,
        Ok(value) => panic!("{value:?} is not an error"),
    }
}

/// The error is of this line of this file.
#[track_caller]
fn is_placed_at(error: &Error, line: u32) {
    let place = error.location().map(|place| (place.file(), place.line()));
    assert_eq!(place, Some((file!(), line)), "{error}");
}

#[test]
fn an_argument_is_differentiated_by_once() {
    let f = |x: Arr<f64>, y: Arr<f64>| x * x * y;
    let expected = "the argument `0` is chosen twice";
    let twice = (Arg::<0>, Arg::<0>);
    assert_eq!(failed(grad(f).wrt(twice).call((3.0, 5.0))).message(), expected);
    assert_eq!(failed(jacobian(f).wrt(twice).call((3.0, 5.0))).message(), expected);
    assert_eq!(failed(eager::value_and_grad_wrt(twice, f, (3.0, 5.0))).message(), expected);
    let all_and_one = grad(f).wrt((AllArgs, Arg::<1>)).call((3.0, 5.0));
    assert_eq!(failed(all_and_one).message(), "the argument `1` is chosen twice");

    let (by_y, by_x) = grad(f).wrt((Arg::<1>, Arg::<0>)).call((3.0, 5.0)).unwrap();
    assert_eq!((by_y.item(), by_x.item()), (Some(9.0), Some(30.0)));
}

/// A panic of the caller's.
fn give_up<T>(_: T) -> Arr<f64> {
    std::panic::resume_unwind(Box::new("given up"))
}

#[test]
fn a_function_goes_on_after_a_panic_that_it_caught() {
    type Attempt = fn(Arr<f64>) -> Arr<f64>;
    let attempts: [(&str, Attempt); 5] = [
        ("build", |x| build(x.len(), give_up)),
        ("build of two", |_| build((2, 3), give_up)),
        ("nested builds", |_| build(2, |_| build(3, give_up))),
        ("fold", |x| fold(constant(0.0), x, |s: Arr<f64>, _: Arr<f64>| give_up(s))),
        ("grad", |x| grad(give_up::<Arr<f64>>).at(x)),
    ];
    for (name, attempt) in attempts {
        let f = |x: Arr<f64>| {
            assert!(catch_unwind(AssertUnwindSafe(|| attempt(x))).is_err(), "{name}");
            build(x.len(), |i| 2.0 * x.at(i))
        };
        assert_eq!(jit(f).call([1.0, 2.0]).unwrap().to_vec(), [2.0, 4.0], "{name}");
        let with_values = |x: Arr<f64>| {
            let y = f(x);
            y.value()?;
            Ok(y + x)
        };
        assert_eq!(eager::run(with_values, [1.0, 2.0]).unwrap().to_vec(), [3.0, 6.0], "{name}");
    }
}

#[test]
fn a_panic_that_passes_through_leaves_nothing_behind() {
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        jit(|x: Arr<f64>| build(x.len(), |i| give_up(i) + grad(give_up::<Arr<f64>>).at(x)))
            .call([1.0])
    }));
    let payload = panicked.unwrap_err();
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"given up"));
    // No function is being staged any more.
    assert!(catch_unwind(|| zeros::<f64>(2)).is_err());
    assert_eq!(jit(|x: Arr<f64>| x + 1.0).call(1.0).unwrap(), 2.0);
}

#[test]
fn constant_indices_are_in_range() {
    let at = |i: i64| failed(jit(move |x: Arr<f64>| x.at(i)).call([1.0, 2.0, 3.0]));
    let line = line!() - 1;
    let last = at(-1);
    is_placed_at(&last, line);
    assert_eq!((last.op(), last.kind()), ("at", ErrorKind::Type));
    let always = "this would always read 0";
    assert_eq!(last.message(), format!("the index -1 is outside axis 0 of [3]f64: {always}"));
    assert!(last.hint().unwrap().contains("write 2, `len() - 1`"), "{last}");
    let after = at(3);
    assert_eq!(after.message(), format!("the index 3 is outside axis 0 of [3]f64: {always}"));
    assert!(after.hint().unwrap().starts_with("the indices of this axis are 0 to 2"), "{after}");

    let matrix = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    let column = failed(jit(|x: Arr<f64>| build(2, |i| x.at((i, 2)))).call(&matrix));
    assert!(column.message().contains("the index 2 is outside axis 1 of [2, 2]f64"), "{column}");
    let taken = failed(jit(|x: Arr<f64>| x.take(-1, 1)).call(&matrix));
    assert_eq!(taken.op(), "take");
    assert!(taken.message().contains("the index -1 is outside axis 1 of [2, 2]f64"), "{taken}");
    let gathered = failed(jit(|x: Arr<f64>| x.gather((0, 5))).call(&matrix));
    assert!(gathered.message().contains("the index 5 is outside axis 1"), "{gathered}");
    let eager = failed(eager::run(|x: Arr<f64>| x.at(7), [1.0]));
    assert!(eager.message().contains("the index 7 is outside"), "{eager}");
}

#[test]
fn indices_that_vary_and_zeros_on_purpose_are_no_errors() {
    let call = |f: fn(Arr<f64>) -> Arr<f64>, x: &[f64]| jit(f).call(x).unwrap().to_vec();
    assert_eq!(call(|x| x.at_or_zero(-1) + x.at_or_zero(1), &[2.0]), [0.0]);
    // Only the size makes these indices constant: the same function reads more elsewhere.
    assert_eq!(call(|x| build(x.len(), |i| x.at(i - 1)), &[2.0]), [0.0]);
    assert_eq!(call(|x| x.at(x.argmax() + 1), &[2.0]), [0.0]);
    // Functions for all sizes read 0 of an axis without elements.
    assert_eq!(call(|x| x.at(0) + x.first() + x.last() + x.take(3, 0), &[]), [0.0]);
}

#[test]
#[should_panic(expected = "constant: an `Arr` outside of any function")]
fn arrays_are_not_made_outside_of_functions() {
    constant([1.0, 2.0]);
}

#[test]
fn arrays_of_functions_that_have_ended_are_not_used() {
    let leaked = std::cell::Cell::new(None);
    compile(|x: Arr<f64>| leaked.set(Some(x)), [2]).unwrap();
    let x = leaked.get().unwrap();
    assert!(catch_unwind(|| x.shape()).is_err());
    assert!(catch_unwind(|| x + x).is_err());
    // Inside another function there is somebody to tell.
    let shape = failed(jit(|y: Arr<f64>| y + x.shape().len() as f64).call(1.0));
    is_placed_at(&shape, line!() - 1);
    assert_eq!((shape.op(), shape.kind()), ("shape", ErrorKind::Scope));
    // Other threads stage nothing.
    let inside = jit(|y: Arr<f64>| {
        assert!(std::thread::scope(|scope| scope.spawn(|| y + 1.0).join().is_err()));
        y
    });
    assert_eq!(inside.call(1.0).unwrap(), 1.0);
}

#[test]
fn what_is_too_large_is_a_limit() {
    let sum = |x: Arr<f64>| x.sum();
    assert!(compile(sum, 1 << 40).is_ok());
    assert_eq!(failed(compile(sum, usize::MAX)).kind(), ErrorKind::Limit);
    for size in [1 << 40, usize::MAX] {
        assert_eq!(failed(Tensor::<f64>::zeros(size)).kind(), ErrorKind::Limit);
        assert_eq!(failed(Key::new(0).normal::<f32>(size)).kind(), ErrorKind::Limit);
        let order = failed(Key::new(0).permutation(size));
        assert_eq!((order.kind(), order.op()), (ErrorKind::Limit, "permutation"));
    }
    assert_eq!(failed(Tensor::<f64>::zeros(vec![1; 65])).kind(), ErrorKind::Limit);
    assert_eq!(failed(Tensor::new(3, vec![1.0])).kind(), ErrorKind::Data);
    let reshaped = failed(jit(|x: Arr<f64>| x.reshape([usize::MAX, 2])).call([1.0, 2.0]));
    assert!(reshaped.message().ends_with("has more than can be counted"), "{reshaped}");
}

#[test]
fn eager_errors_have_a_place() {
    let by_integer = failed(eager::grad(|k: Arr<i64>| k.cast::<f64>(), 1));
    is_placed_at(&by_integer, line!() - 1);
    assert_eq!(by_integer.op(), "grad");
    let nothing: Vec<Tensor<f64>> = Vec::new();
    let by_nothing =
        failed(eager::grad(|x: Vec<Arr<f64>>| x.into_iter().sum::<Arr<f64>>(), nothing));
    assert_eq!(by_nothing.message(), "there is nothing to differentiate by");

    let asked = |x: Arr<f64>| -> Result<Arr<f64>> {
        x.item()?;
        Ok(x)
    };
    let line = line!() - 3;
    is_placed_at(&failed(jit(asked).call(1.0)), line);
    is_placed_at(&failed(eager::run(asked, [1.0, 2.0])), line);

    let (_, push) = linearize(|x: Arr<f64>| x * x).call(1.0).unwrap();
    is_placed_at(&failed(push.call([1.0, 2.0])), line!());
}

#[test]
fn messages_name_what_they_speak_of() {
    let loop_over =
        failed(jit(|x: Arr<f64>| while_loop(x, |z| z.lt(5.0), |z| z + 1.0)).call([1.0]));
    assert_eq!(loop_over.message(), "the condition must be a scalar, not [1]bool");
    let branches = failed(jit(|x: Arr<f64>| cond(true, || x, || x.sum())).call([1.0]));
    let expected = "the result is [1]f64 in the first branch and f64 in the second";
    assert_eq!(branches.message(), expected);
    let switched = failed(jit(|x: Arr<f64>| switch(0, &[&|| x, &|| x.sum()])).call([1.0]));
    assert_eq!(switched.message(), "the result is f64 in branch 1 and [1]f64 in branch 0");
    let axis = failed(jit(|x: Arr<f64>| x.sum_axis(1)).call([1.0]));
    assert_eq!(axis.message(), "there is no axis 1 in 1 axis");
    assert_eq!(axis.hint(), Some("the only axis is 0, or -1 from the end"));

    let tensor = failed(jit(|_: Arr<f64>| Tensor::from(1.0)).call(2.0));
    is_placed_at(&tensor, line!() - 1);
    assert_eq!(tensor.message(), "a `Tensor` among the arrays of a function");
    assert_eq!(tensor.hint(), Some("`constant` makes an array of it"));
}

#[test]
fn small_tensors_show_their_elements() {
    let shown = |tensor: &dyn std::fmt::Debug| format!("{tensor:?}");
    assert_eq!(shown(&Tensor::from(1.5)), "f64[]: 1.5");
    assert_eq!(shown(&Tensor::from([1i64, -2])), "i64[2]: [1, -2]");
    assert_eq!(shown(&Tensor::from([[true], [false]])), "bool[2, 1]: [[true], [false]]");
    let cube = Tensor::from([[[1.0f32, 2.0], [3.0, 4.0]], [[5.0, f32::NAN], [7.0, 8.0]]]);
    let elements = "[[[1.0, 2.0], [3.0, 4.0]], [[5.0, NaN], [7.0, 8.0]]]";
    assert_eq!(shown(&cube), format!("f32[2, 2, 2]: {elements}"));
    assert_eq!(shown(&Tensor::<f64>::zeros([0, 3]).unwrap()), "f64[0, 3]: no elements");
    let long = Tensor::<f64>::zeros(33).unwrap();
    assert_eq!(shown(&long), "f64[33]: min 0.0, max 0.0, mean 0.0");
}

#[test]
fn threads_that_compile_at_once_share_a_place_in_the_cache() {
    // Each thread stages the function while the other does.
    let both = std::sync::Barrier::new(2);
    let f = jit(|x: Arr<f64>| {
        both.wait();
        x + 1.0
    });
    std::thread::scope(|scope| {
        let calls = [(); 2].map(|()| scope.spawn(|| f.call([1.0, 2.0]).unwrap().to_vec()));
        for call in calls {
            assert_eq!(call.join().unwrap(), [2.0, 3.0]);
        }
    });
    let info = f.cache();
    assert_eq!((info.misses, info.entries.len()), (2, 1));
}
