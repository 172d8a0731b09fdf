//! What is written reads back; what NumPy can write is read; nothing makes the reader panic.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod support;

use cotan_array::{Array, Dtype, Element, Shape, npy};
use support::{Rng, header, npy, npy1};

fn shape(dims: &[usize]) -> Shape {
    Shape::new("test", dims).unwrap()
}

fn tuple(dims: &[usize]) -> String {
    dims.iter().fold("(".to_string(), |text, k| format!("{text}{k}, ")) + ")"
}

/// Shapes of rank 0 to 4 with sizes 0 to 3.
fn shapes() -> Vec<Vec<usize>> {
    let mut shapes = vec![vec![]];
    let mut last = shapes.clone();
    for _ in 0..4 {
        last = last.iter().flat_map(|dims| (0..4).map(|k| [&dims[..], &[k]].concat())).collect();
        shapes.extend(last.clone());
    }
    shapes
}

/// Values of every kind, those that are easily lost among them.
fn sample(dtype: Dtype, n: usize) -> Array {
    let f64s = [-0.0, 1.5, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE / 8.0, -1e300, 0.1];
    let i64s = [0, -1, i64::MIN, i64::MAX, 1 << 53, 0x0102_0304_0506_0708];
    let pick = |ix: &[usize]| ix.first().copied().unwrap_or(0);
    let sh = shape(&[n]);
    match dtype {
        Dtype::F64 => Array::from_fn(sh, |ix| f64s[pick(ix) % f64s.len()]),
        Dtype::F32 => Array::from_fn(sh, |ix| f64s[pick(ix) % f64s.len()] as f32),
        Dtype::I64 => Array::from_fn(sh, |ix| i64s[pick(ix) % i64s.len()]),
        Dtype::Bool => Array::from_fn(sh, |ix| pick(ix) % 3 == 0),
    }
    .unwrap()
}

#[test]
fn every_type_and_shape_reads_back_bit_for_bit() {
    for dims in shapes() {
        for dtype in Dtype::ALL {
            let sh = shape(&dims);
            let array = sample(dtype, sh.numel()).reshape(sh).unwrap();
            let bytes = npy::write(&array).unwrap();
            assert!(npy::read(&bytes).unwrap().bits_eq(&array), "{array:?}");
            let reversed: Vec<usize> = (0..dims.len()).rev().collect();
            let view = array.transpose(&reversed).unwrap();
            assert!(npy::read(&npy::write(&view).unwrap()).unwrap().bits_eq(&view), "{view:?}");
        }
    }
}

#[test]
fn the_bytes_are_those_that_numpy_writes() {
    // numpy.save of numpy.arange(3.0), numpy.bool_(True) and numpy.zeros((2, 0), 'i8').
    let expect = |array: &Array, text: &str, pad: usize, data: &[u8]| {
        let header = format!("{text}{}\n", " ".repeat(pad));
        assert_eq!((10 + header.len()) % 64, 0);
        assert_eq!(npy::write(array).unwrap(), npy1(header, data), "{array:?}");
    };
    let a = Array::from_vec(shape(&[3]), vec![0.0, 1.0, 2.0]).unwrap();
    let data = [0f64, 1.0, 2.0].map(f64::to_le_bytes).concat();
    expect(&a, "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }", 60, &data);
    let a = Array::scalar(true);
    expect(&a, "{'descr': '|b1', 'fortran_order': False, 'shape': (), }", 62, &[1]);
    let a = Array::zeros(Dtype::I64, shape(&[2, 0])).unwrap();
    expect(&a, "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 0), }", 58, &[]);
}

/// Little-endian bytes of some elements, and what they should read as.
struct Case<T> {
    descr: &'static str,
    bytes: Vec<Vec<u8>>,
    values: Vec<T>,
}

fn check<T: Element>(case: &Case<T>) {
    let Case { descr, bytes, values } = case;
    let swapped = bytes.iter().map(|b| b.iter().rev().copied().collect()).collect::<Vec<Vec<u8>>>();
    let expected = Array::from_slice(shape(&[values.len()]), values).unwrap();
    let native = if cfg!(target_endian = "big") { &swapped } else { bytes };
    for (order, data) in [("<", bytes), (">", &swapped), ("=", native), ("|", native)] {
        for version in [[1, 0], [2, 0], [3, 0]] {
            let header = header(&format!("{order}{descr}"), &tuple(&[values.len()]));
            let array = npy::read(&npy(version, header.as_bytes(), &data.concat())).unwrap();
            assert!(array.bits_eq(&expected), "{order}{descr}: {array:?}");
        }
    }
}

#[test]
fn every_numpy_type_in_every_byte_order_and_version() {
    macro_rules! integers {
        ($($t:ty, $descr:literal);*) => {$({
            let values = [0, 1, 100, <$t>::MAX.min(i64::MAX as $t), <$t>::MIN, <$t>::MIN + 1];
            check(&Case {
                descr: $descr,
                bytes: values.iter().map(|x| x.to_le_bytes().to_vec()).collect(),
                values: values.iter().map(|&x| x as i64).collect(),
            });
        })*};
    }
    integers!(i8, "i1"; i16, "i2"; i32, "i4"; i64, "i8");
    integers!(u64, "u8");
    check(&Case {
        descr: "u1",
        bytes: vec![vec![0], vec![200], vec![255]],
        values: vec![0, 200, 255i64],
    });
    check(&Case {
        descr: "u2",
        bytes: vec![vec![1, 2], vec![255, 255]],
        values: vec![0x201, 65_535i64],
    });
    check(&Case {
        descr: "u4",
        bytes: vec![vec![1, 2, 3, 4], vec![255; 4]],
        values: vec![0x0403_0201, 4_294_967_295i64],
    });
    let f64s = [0.1, -0.0, f64::NAN, f64::NEG_INFINITY, 5e-324];
    check(&Case {
        descr: "f8",
        bytes: f64s.map(|x| x.to_le_bytes().to_vec()).into(),
        values: f64s.into(),
    });
    let f32s = [0.1, -0.0, f32::NAN, f32::INFINITY, 1e-45];
    check(&Case {
        descr: "f4",
        bytes: f32s.map(|x| x.to_le_bytes().to_vec()).into(),
        values: f32s.into(),
    });
    let halves = [0x3c00u16, 0xc500, 0x0001, 0x7c00];
    let values = vec![1.0, -5.0, 2f32.powi(-24), f32::INFINITY];
    check(&Case { descr: "f2", bytes: halves.map(|x| x.to_le_bytes().to_vec()).into(), values });
    check(&Case {
        descr: "b1",
        bytes: vec![vec![0], vec![1], vec![2]],
        values: vec![false, true, true],
    });
}

#[test]
fn every_half_float_reads_as_its_value() {
    let bytes: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
    let array = npy::read(&npy1(header("<f2", "(65536,)"), &bytes)).unwrap();
    for (bits, x) in (0..=u16::MAX).zip(array.iter::<f32>().unwrap()) {
        let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
        let magnitude = match exponent {
            0 => fraction / 1024.0 * 2f32.powi(-14),
            31 if fraction == 0.0 => f32::INFINITY,
            31 => f32::NAN,
            _ => (1.0 + fraction / 1024.0) * 2f32.powi(exponent - 15),
        };
        assert_eq!(x.is_sign_negative(), bits >> 15 == 1);
        assert!(x.abs() == magnitude || x.is_nan() && magnitude.is_nan(), "{bits:#x}: {x}");
    }
}

#[test]
fn fortran_order_is_a_transposed_view() {
    for dims in shapes() {
        let sh = shape(&dims);
        let flipped: Vec<usize> = dims.iter().rev().copied().collect();
        let perm: Vec<usize> = (0..dims.len()).rev().collect();
        let stored = sample(Dtype::I64, sh.numel()).reshape(shape(&flipped)).unwrap();
        let data: Vec<u8> = stored.iter::<i64>().unwrap().flat_map(i64::to_le_bytes).collect();
        let text = header("<i8", &tuple(&dims)).replace("False", "True");
        let array = npy::read(&npy1(text, &data)).unwrap();
        assert_eq!(array, stored.transpose(&perm).unwrap());
        assert_eq!(array.shape(), &sh);
        assert_eq!(array.contiguous().unwrap().to_vec::<i64>().unwrap(), array.to_vec().unwrap());
    }
}

#[test]
fn headers_may_be_laid_out_freely() {
    let texts = [
        "{'descr':'<i8','fortran_order':False,'shape':(2,)}",
        " { \"shape\" : ( 2 , ) , \"descr\" : \"<i8\" , \"fortran_order\" : False , } \n \t",
        "{'fortran_order': False, 'descr': 'i8',\n 'shape': (2L,)}",
        "{'descr': '<i8', 'fortran_order': True, 'shape': (2,), }        \n",
    ];
    let data = [7i64, -7].map(i64::to_le_bytes).concat();
    for text in texts {
        assert_eq!(npy::read(&npy1(text, &data)).unwrap().to_vec::<i64>().unwrap(), [7, -7]);
    }
    let padded = header("<i8", "(2,)") + &" ".repeat(60_000);
    assert!(npy::read(&npy1(padded, &data)).is_ok());
}

#[test]
fn files_read_back_and_replicated_views_are_written_whole() {
    let path = std::env::temp_dir().join(format!("cotan-npy-{}.npy", std::process::id()));
    let array = sample(Dtype::F32, 7).replicate(5000).unwrap();
    npy::write_file(&path, &array).unwrap();
    let read = npy::read_file(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(read.bits_eq(&array) && read.is_contiguous());
    let huge = Array::scalar(1.0).replicate(1 << 40).unwrap();
    let e = npy::write(&huge).unwrap_err().to_string();
    assert!(e.starts_with("npy: an array of shape [1099511627776] of f64 needs"), "{e}");
}

#[test]
fn no_mutation_of_a_file_makes_the_reader_panic() {
    let mut rng = Rng(0x1234_5678_9abc_def1);
    let mut files: Vec<Vec<u8>> = Vec::new();
    for dtype in Dtype::ALL {
        files.push(npy::write(&sample(dtype, 6).reshape(shape(&[2, 3])).unwrap()).unwrap());
    }
    files.push(npy1(header(">i2", "(3,)"), &[1, 2, 3, 4, 5, 6]));
    files.push(npy1(header("<f2", "(1, 2)").replace("False", "True"), &[1, 2, 3, 4]));
    files.push(npy([3, 0], header("<u8", "()").as_bytes(), &[0xff; 8]));
    let (mut accepted, mut refused) = (0, 0);
    for n in 0..30_000 {
        let mutant = rng.mutate(&files[n % files.len()]);
        match npy::read(&mutant) {
            // What is accepted has to be an array in every respect.
            Ok(array) => {
                assert!(npy::read(&npy::write(&array).unwrap()).unwrap().bits_eq(&array));
                accepted += 1;
            }
            Err(e) => {
                assert!(!e.to_string().is_empty());
                refused += 1;
            }
        }
    }
    assert!(accepted > 300 && refused > 10_000, "{accepted} accepted, {refused} refused");
}
