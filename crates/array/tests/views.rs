//! Every view against its definition: the element at an index, computed the obvious way.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use cotan_array::{Array, ArrayError, Dtype, Shape};

/// An array as a function from indices to elements, with its sizes.
struct Model {
    dims: Vec<usize>,
    at: Box<Elements>,
}

type Elements = dyn Fn(&[usize]) -> i64;

/// Xorshift: small, seeded, good enough to pick views.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % n.max(1)
    }
}

fn shape(dims: &[usize]) -> Shape {
    Shape::new("test", dims).unwrap()
}

fn number(dims: &[usize], ix: &[usize]) -> usize {
    ix.iter().zip(dims).fold(0, |n, (i, k)| n * k + i)
}

fn unnumber(dims: &[usize], mut n: usize) -> Vec<usize> {
    let mut ix = vec![0; dims.len()];
    for (i, k) in ix.iter_mut().zip(dims).rev() {
        *i = n % k;
        n /= k;
    }
    ix
}

fn indices(dims: &[usize]) -> Vec<Vec<usize>> {
    (0..dims.iter().product()).map(|n| unnumber(dims, n)).collect()
}

fn start(dims: &[usize]) -> (Array, Model) {
    let sizes = dims.to_vec();
    let at = move |ix: &[usize]| number(&sizes, ix) as i64;
    let array = Array::from_fn(shape(dims), &at).unwrap();
    (array, Model { dims: dims.to_vec(), at: Box::new(at) })
}

fn agree(array: &Array, model: &Model) {
    assert_eq!(array.shape().dims(), model.dims);
    let expected: Vec<i64> = indices(&model.dims).iter().map(|ix| (model.at)(ix)).collect();
    let by_index: Vec<i64> = indices(&model.dims).iter().map(|ix| array.get(ix).unwrap()).collect();
    assert_eq!(by_index, expected);
    let iter = array.iter::<i64>().unwrap();
    assert_eq!(iter.len(), expected.len());
    assert_eq!(iter.collect::<Vec<_>>(), expected);
    assert_eq!(array.to_vec::<i64>().unwrap(), expected);
    assert_eq!(array.contiguous().unwrap().as_slice::<i64>(), Some(&expected[..]));
    if let Some(slice) = array.as_slice::<i64>() {
        assert_eq!(slice, expected);
    }
    let dense = Array::from_vec(shape(&model.dims), expected).unwrap();
    assert!(&dense == array && dense.bits_eq(array));
}

/// One random view, taken of the array and of the model.
fn view(rng: &mut Rng, array: &Array, model: Model) -> (Array, Model) {
    let Model { dims, at } = model;
    let axis = rng.below(dims.len());
    let size = dims.get(axis).copied().unwrap_or(0);
    match rng.below(6) {
        0 => {
            let moved = rng.below(dims.len() + 1);
            let mut perm: Vec<usize> = (0..moved).collect();
            for n in (1..moved).rev() {
                perm.swap(n, rng.below(n + 1));
            }
            let full: Vec<usize> = perm.iter().copied().chain(moved..dims.len()).collect();
            let sizes = full.iter().map(|&n| dims[n]).collect();
            let array = array.transpose(&perm).unwrap();
            let at = move |ix: &[usize]| {
                let mut source = vec![0; ix.len()];
                full.iter().zip(ix).for_each(|(&n, &i)| source[n] = i);
                at(&source)
            };
            (array, Model { dims: sizes, at: Box::new(at) })
        }
        1 if !dims.is_empty() => {
            let array = array.reverse(axis).unwrap();
            let at = move |ix: &[usize]| {
                let mut ix = ix.to_vec();
                ix[axis] = size - 1 - ix[axis];
                at(&ix)
            };
            (array, Model { dims, at: Box::new(at) })
        }
        2 if !dims.is_empty() => {
            let start = rng.below(size);
            let step = rng.below(5) as isize - 2;
            let mut len = 0;
            while len < size && (0..size as isize).contains(&(start as isize + len as isize * step))
            {
                len += 1;
            }
            let len = rng.below(len + 1);
            let array = array.slice(axis, start, len, step).unwrap();
            let mut sizes = dims;
            sizes[axis] = len;
            let at = move |ix: &[usize]| {
                let mut ix = ix.to_vec();
                ix[axis] = (start as isize + ix[axis] as isize * step) as usize;
                at(&ix)
            };
            (array, Model { dims: sizes, at: Box::new(at) })
        }
        3 if dims.first().is_some_and(|&k| k > 0) => {
            let i = rng.below(dims[0]);
            let array = array.row(i).unwrap();
            let at = move |ix: &[usize]| at(&[&[i], ix].concat());
            (array, Model { dims: dims[1..].to_vec(), at: Box::new(at) })
        }
        4 if dims.len() < 5 => {
            let k = rng.below(4);
            let array = array.replicate(k).unwrap();
            let at = move |ix: &[usize]| at(&ix[1..]);
            (array, Model { dims: [&[k], &dims[..]].concat(), at: Box::new(at) })
        }
        _ => {
            let mut left: usize = dims.iter().product();
            let mut sizes = Vec::new();
            if left == 0 {
                sizes.push(0);
                left = rng.below(5) + 1;
            }
            while left > 1 || rng.below(3) == 0 {
                let divisors: Vec<usize> = (1..=left).filter(|&k| left.is_multiple_of(k)).collect();
                let k = divisors[rng.below(divisors.len())];
                sizes.push(k);
                left /= k;
            }
            let array = array.reshape(shape(&sizes)).unwrap();
            let new = sizes.clone();
            let at = move |ix: &[usize]| at(&unnumber(&dims, number(&new, ix)));
            (array, Model { dims: sizes, at: Box::new(at) })
        }
    }
}

#[test]
fn chains_of_views_agree_with_their_definition() {
    let mut rng = Rng(0x9e37_79b9_7f4a_7c15);
    let (mut strided, mut empty) = (0, 0);
    for _ in 0..5_000 {
        let dims: Vec<usize> = (0..rng.below(5)).map(|_| [0, 1, 2, 3, 4][rng.below(5)]).collect();
        let (mut array, mut model) = start(&dims);
        for _ in 0..rng.below(6) {
            (array, model) = view(&mut rng, &array, model);
            agree(&array, &model);
        }
        strided += usize::from(!array.is_contiguous());
        empty += usize::from(array.numel() == 0);
    }
    assert!(strided > 500 && empty > 500, "{strided} strided, {empty} empty");
}

#[test]
fn views_share_the_buffer() {
    let (a, _) = start(&[3, 4]);
    let address = |a: &Array| a.buffer::<i64>().unwrap().as_ptr();
    let views = [
        a.transpose(&[1, 0]).unwrap(),
        a.reverse(1).unwrap(),
        a.slice(1, 3, 2, -2).unwrap(),
        a.row(2).unwrap(),
        a.replicate(1000).unwrap(),
        a.reshape(shape(&[2, 3, 2])).unwrap(),
        a.contiguous().unwrap(),
        a.cast(Dtype::I64).unwrap(),
        a.replicate(5).unwrap().reshape(shape(&[5, 2, 6])).unwrap(),
        a.transpose(&[1, 0]).unwrap().reshape(shape(&[2, 2, 3])).unwrap(),
    ];
    for view in &views {
        assert_eq!(address(view), address(&a), "{view:?}");
    }
    let copy = a.transpose(&[1, 0]).unwrap().reshape(shape(&[12])).unwrap();
    assert_ne!(address(&copy), address(&a));
}

#[test]
fn from_vec_takes_the_vector_over() {
    let elements = vec![1.0, 2.0];
    let address = elements.as_ptr();
    let array = Array::from_vec(shape(&[2]), elements).unwrap();
    assert_eq!(array.as_slice::<f64>().unwrap().as_ptr(), address);
}

#[test]
fn strides_say_where_the_elements_are() {
    let (a, _) = start(&[3, 4]);
    assert_eq!((a.strides(), a.offset()), (&[4, 1][..], 0));
    let a = a.reverse(0).unwrap().transpose(&[1, 0]).unwrap();
    assert_eq!((a.strides(), a.offset()), (&[1, -4][..], 8));
    let a = a.row(3).unwrap();
    assert_eq!((a.strides(), a.offset()), (&[-4][..], 11));
    assert_eq!(a.replicate(2).unwrap().strides(), [0, -4]);
}

#[test]
fn elements_are_reached_by_their_own_type_only() {
    let (a, _) = start(&[2, 2]);
    assert_eq!(a.get::<i64>(&[1, 0]), Some(2));
    assert_eq!(a.get::<f64>(&[1, 0]), None);
    assert_eq!(a.get::<i64>(&[2, 0]), None);
    assert_eq!(a.get::<i64>(&[0]), None);
    assert!(a.iter::<bool>().is_none() && a.as_slice::<f32>().is_none());
    assert_eq!(a.item::<i64>(), None);
    assert_eq!(a.slice(0, 1, 1, 7).unwrap().row(0).unwrap().row(1).unwrap().item(), Some(3i64));
    let e = a.to_vec::<f64>().unwrap_err();
    assert_eq!(e.to_string(), "to_vec: the elements are i64, not f64; convert them with `cast`");
}

#[test]
fn bad_views_are_refused_with_a_reason() {
    let (a, _) = start(&[2, 3]);
    let refused = |result: Result<Array, ArrayError>, message: &str| {
        assert_eq!(result.unwrap_err().to_string(), message);
    };
    let no_axis = "reverse: no axis 2 in shape [2, 3], which has 2 axes";
    refused(a.reverse(2), no_axis);
    let not_perm = "transpose: [0, 0] is not a permutation of the outermost axes of shape [2, 3]; \
                    use each of 0 to 1 once";
    refused(a.transpose(&[0, 0]), not_perm);
    assert!(a.transpose(&[1]).is_err() && a.transpose(&[0, 1, 2]).is_err());
    refused(a.row(2), "row: index 2 is outside the outermost axis of shape [2, 3]");
    refused(Array::scalar(1.0).row(0), "row: no axis 0 in shape [], which has 0 axes");
    let leaves = "slice: 2 elements from 2 in steps of 1 leave axis 1 of shape [2, 3], \
                  which has 3 elements";
    refused(a.slice(1, 2, 2, 1), leaves);
    assert!(a.slice(1, 3, 1, 1).is_err() && a.slice(1, 4, 0, 1).is_err());
    assert!(a.slice(1, 0, 2, -1).is_err() && a.slice(1, 0, 2, isize::MAX).is_err());
    assert!(a.slice(1, 1, usize::MAX, 1).is_err() && a.slice(1, 1, 3, isize::MIN).is_err());
    refused(
        a.reshape(shape(&[7])),
        "reshape: 6 elements do not fill shape [7], which has 7 elements",
    );
    assert!(a.replicate(usize::MAX).is_err());
}

#[test]
fn too_large_a_result_is_refused_before_it_is_allocated() {
    let huge = Array::scalar(1.0).replicate(1 << 40).unwrap();
    let strided = huge.replicate(2).unwrap();
    let bytes = 8u64 << 40;
    let message = |op: &str, dims: &str, dtype: &str, bytes: u64| {
        let limit = 16u64 << 30;
        format!(
            "{op}: an array of shape [{dims}] of {dtype} needs {bytes} bytes; the limit is {limit}"
        )
    };
    let one = "1099511627776";
    assert_eq!(huge.to_vec::<f64>().unwrap_err().to_string(), message("to_vec", one, "f64", bytes));
    let e = strided.contiguous().unwrap_err();
    assert_eq!(e.to_string(), message("contiguous", &format!("2, {one}"), "f64", 2 * bytes));
    let e = huge.cast(Dtype::F32).unwrap_err();
    assert_eq!(e.to_string(), message("cast", one, "f32", bytes / 2));
    let e = Array::zeros(Dtype::I64, shape(&[1 << 40])).unwrap_err();
    assert_eq!(e.to_string(), message("full", one, "i64", bytes));
    let e = Array::from_fn(shape(&[1 << 40]), |_| true).unwrap_err();
    assert_eq!(e.to_string(), message("from_fn", one, "bool", bytes / 8));
}

#[test]
fn casts_have_the_meaning_of_the_language() {
    let vector = |xs: &[f64]| Array::from_slice(shape(&[xs.len()]), xs).unwrap();
    let a = vector(&[-1.5, 0.0, f64::NAN, 1e30]);
    let cast = |dtype| a.cast(dtype).unwrap();
    assert_eq!(cast(Dtype::I64).as_slice::<i64>().unwrap(), [-1, 0, 0, i64::MAX]);
    assert_eq!(cast(Dtype::Bool).as_slice::<bool>().unwrap(), [true, false, true, true]);
    assert_eq!(cast(Dtype::F32).get::<f32>(&[3]), Some(1e30));
    let back = cast(Dtype::Bool).cast(Dtype::F64).unwrap();
    assert_eq!(back, vector(&[1.0, 0.0, 1.0, 1.0]));
    for from in Dtype::ALL {
        for to in Dtype::ALL {
            let ones = a.cast(Dtype::Bool).unwrap().cast(from).unwrap().cast(to).unwrap();
            assert_eq!(ones.dtype(), to);
            assert_eq!(ones.cast(Dtype::F64).unwrap(), back);
        }
    }
}

#[test]
fn equality_is_by_value_and_bits_eq_by_bits() {
    let [zero, minus, nan] = [0.0, -0.0, f64::NAN].map(Array::scalar);
    assert!(zero == minus && !zero.bits_eq(&minus));
    assert!(nan != nan && nan.bits_eq(&nan));
    assert_ne!(zero, Array::scalar(0i64));
    assert_ne!(zero, zero.replicate(1).unwrap());
    let (a, _) = start(&[2, 3]);
    assert_eq!(a.transpose(&[1, 0]).unwrap().transpose(&[1, 0]).unwrap(), a);
    assert_ne!(a.reverse(1).unwrap(), a);
}

/// A copy that may be stopped is the same, asks before each part, and stops when told to.
#[test]
fn a_copy_can_be_stopped() {
    let (rows, columns) = (60, 700);
    let a = Array::from_fn(shape(&[rows, columns]), |ix| (ix[0] * columns + ix[1]) as i64).unwrap();
    let turned = a.transpose(&[1, 0]).unwrap();
    let parts = (rows * columns).div_ceil(Array::AT_A_TIME);
    assert_eq!(parts, 3);
    for last in 0..=parts {
        let mut asked = 0;
        let copy = turned.contiguous_while(|| {
            asked += 1;
            asked <= last
        });
        match copy.unwrap() {
            Some(copy) => assert_eq!((copy, last), (turned.contiguous().unwrap(), parts)),
            None => assert_eq!(asked, last + 1),
        }
    }
    // Nothing is copied, and nobody asked.
    assert!(a.contiguous_while(|| panic!("it lies in order")).unwrap().is_some());
}
