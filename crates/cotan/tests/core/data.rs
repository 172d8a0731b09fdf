//! Structures in files and tensors of other data: round trips, conversions, damaged files.
use std::path::PathBuf;

use cotan::prelude::*;
use cotan_testkit::Rng;

#[derive(Arrays, Clone, Debug, PartialEq)]
struct Mixed<F, G, I, B> {
    wide: Vec<F>,
    narrow: (G, G),
    count: I,
    mask: B,
    #[arrays(skip)]
    name: String,
}

type Saved = Mixed<Tensor<f64>, Tensor<f32>, Tensor<i64>, Tensor<bool>>;

fn tensor<T: Element>(rng: &mut Rng, sizes: &[usize], of: impl Fn(&mut Rng) -> T) -> Tensor<T> {
    Tensor::from_fn(sizes, |_| of(rng)).unwrap()
}

/// A structure of all element types, with shapes of all ranks up to 4 and sizes from 0.
fn mixed(rng: &mut Rng, name: &str) -> Saved {
    let sizes = |rng: &mut Rng| -> Vec<usize> {
        let rank = rng.below(5);
        (0..rank).map(|_| rng.below(4)).collect()
    };
    let count = rng.below(4);
    let wide = (0..count).map(|_| {
        let sizes = sizes(rng);
        tensor(rng, &sizes, |rng| rng.below(2000) as f64 / 7.0 - 100.0)
    });
    let wide = wide.collect();
    let shapes: Vec<Vec<usize>> = (0..4).map(|_| sizes(rng)).collect();
    Mixed {
        wide,
        narrow: (
            tensor(rng, &shapes[0], |rng| rng.below(2000) as f32 / 7.0),
            tensor(rng, &shapes[1], |rng| -(rng.below(2000) as f32)),
        ),
        count: tensor(rng, &shapes[2], |rng| rng.below(1000) as i64 - 500),
        mask: tensor(rng, &shapes[3], |rng| rng.below(2) == 1),
        name: name.to_owned(),
    }
}

/// The same shapes with zeros.
fn blank(of: &Saved, name: &str) -> Saved {
    fn zeros<T: Element>(x: &Tensor<T>) -> Tensor<T> {
        Tensor::zeros(x.shape()).unwrap()
    }
    Mixed {
        wide: of.wide.iter().map(zeros).collect(),
        narrow: (zeros(&of.narrow.0), zeros(&of.narrow.1)),
        count: zeros(&of.count),
        mask: zeros(&of.mask),
        name: name.to_owned(),
    }
}

/// A folder that is gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("cotan-data-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

#[test]
fn npz_files_bring_structures_back() {
    let folder = Folder::new("npz");
    let mut rng = Rng::new(1);
    for n in 0..30 {
        let file = folder.0.join(format!("{n}.npz"));
        let saved = mixed(&mut rng, "written");
        save_npz(&file, &saved).unwrap();
        let read = load_npz_like(&file, &blank(&saved, "read")).unwrap();
        // What is not made of arrays is that of the example.
        assert_eq!(read, Mixed { name: "read".into(), ..saved });
    }
    let single = folder.0.join("single.npz");
    save_npz(&single, &Tensor::from([f64::NAN, -0.0_f64])).unwrap();
    let read = load_npz_like(&single, &Tensor::from([0.0f64, 0.0])).unwrap();
    assert!(read.to_vec()[0].is_nan() && read.to_vec()[1].is_sign_negative());
    let names = cotan_array::npz::read_file(&single).unwrap();
    assert_eq!(names[0].0, "arr_0");
    let empty = folder.0.join("empty.npz");
    save_npz(&empty, &()).unwrap();
    load_npz_like(&empty, &()).unwrap();
    let names: Vec<String> = {
        let file = folder.0.join("names.npz");
        save_npz(&file, &(vec![Tensor::from(1.0)], Tensor::from(2i64))).unwrap();
        cotan_array::npz::read_file(&file).unwrap().into_iter().map(|(name, _)| name).collect()
    };
    assert_eq!(names, ["0.0", "1"]);
}

#[test]
fn what_no_leaf_asks_for_need_not_be_readable() {
    let folder = Folder::new("strings");
    let file = folder.0.join("x.npz");
    let notes = Tensor::from([0.0, 0.0]);
    save_npz(&file, &vec![Tensor::from([1.0, 2.0]), notes.clone()]).unwrap();
    // The second array becomes one of strings of two characters, which take as many bytes.
    let mut bytes = std::fs::read(&file).unwrap();
    let at = bytes.windows(5).rposition(|window| window == b"'<f8'").unwrap();
    bytes[at..at + 5].copy_from_slice(b"'<U2'");
    std::fs::write(&file, &bytes).unwrap();
    let first = load_npz_like(&file, &vec![Tensor::from([0.0, 0.0])]).unwrap();
    assert_eq!(first, [Tensor::from([1.0, 2.0])]);
    let error = load_npz_like(&file, &vec![notes.clone(), notes]).unwrap_err().to_string();
    assert!(error.contains("`1` is unreadable"), "{error}");
    assert!(error.contains("elements of type '<U2' are not supported"), "{error}");
    assert!(!error.contains("`0` is"), "{error}");
}

/// Loads a file cut off at every length and with every byte changed. None of it may panic, and what
/// is cut off is never read.
fn damage(file: &std::path::Path, load: impl Fn() -> cotan::Result<(Tensor<f64>, Tensor<bool>)>) {
    let whole = std::fs::read(file).unwrap();
    load().unwrap();
    for length in 0..whole.len() {
        std::fs::write(file, &whole[..length]).unwrap();
        assert!(load().is_err(), "cut off at {length}");
    }
    let mut refused = 0;
    for at in 0..whole.len() {
        for change in [1, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= change;
            std::fs::write(file, &bytes).unwrap();
            refused += usize::from(load().is_err());
        }
    }
    assert!(refused > whole.len(), "{refused} of {} bytes", whole.len());
}

#[test]
fn damaged_npz_files_are_refused() {
    let folder = Folder::new("damaged-npz");
    let file = folder.0.join("x.npz");
    let pair = (Tensor::from([1.0, 2.0]), Tensor::from(true));
    save_npz(&file, &pair).unwrap();
    damage(&file, || load_npz_like(&file, &pair));
}

#[test]
fn nested_vectors_become_tensors() {
    let matrix = vec![vec![1, 2, 3], vec![4, 5, 6]];
    assert_eq!(Tensor::try_from(matrix).unwrap(), Tensor::from([[1, 2, 3], [4, 5, 6]]));
    let cube =
        vec![vec![vec![1.0], vec![2.0]], vec![vec![3.0], vec![4.0]], vec![vec![5.0], vec![6.0]]];
    let expected = Tensor::from([[[1.0], [2.0]], [[3.0], [4.0]], [[5.0], [6.0]]]);
    assert_eq!(Tensor::try_from(cube).unwrap(), expected);
    let empties: [(Vec<Vec<bool>>, [usize; 2]); 3] =
        [(vec![], [0, 0]), (vec![vec![]], [1, 0]), (vec![vec![], vec![]], [2, 0])];
    for (rows, sizes) in empties {
        assert_eq!(Tensor::try_from(rows).unwrap().shape(), sizes);
    }
    type Nested = Vec<Vec<Vec<bool>>>;
    let empties: [(Nested, [usize; 3]); 3] =
        [(vec![], [0; 3]), (vec![vec![]; 2], [2, 0, 0]), (vec![vec![vec![]; 3]; 2], [2, 3, 0])];
    for (parts, sizes) in empties {
        assert_eq!(Tensor::try_from(parts).unwrap().shape(), sizes);
    }
    // The texts of the errors are among those of tests/errors.rs.
    assert!(Tensor::try_from(vec![vec![1], vec![1, 2]]).is_err());
    assert!(Tensor::try_from(vec![vec![vec![1]], vec![]]).is_err());
}

#[cfg(feature = "safetensors")]
mod safetensors_files {
    use cotan::{load_safetensors_like, save_safetensors};
    use safetensors::tensor::{Dtype, TensorView, serialize};

    use super::*;

    #[test]
    fn files_bring_structures_back() {
        let folder = Folder::new("safetensors");
        let mut rng = Rng::new(2);
        for n in 0..30 {
            let file = folder.0.join(format!("{n}.safetensors"));
            let saved = mixed(&mut rng, "written");
            save_safetensors(&file, &saved).unwrap();
            let read = load_safetensors_like(&file, &blank(&saved, "read")).unwrap();
            assert_eq!(read, Mixed { name: "read".into(), ..saved });
        }
    }

    #[test]
    fn damaged_files_are_refused() {
        let folder = Folder::new("damaged-safetensors");
        let file = folder.0.join("x.safetensors");
        let pair = (Tensor::from([1.0, 2.0]), Tensor::from(true));
        save_safetensors(&file, &pair).unwrap();
        damage(&file, || load_safetensors_like(&file, &pair));
    }

    #[test]
    fn other_element_types_become_ours_or_are_named() {
        let folder = Folder::new("kinds");
        let file = folder.0.join("x.safetensors");
        let write = |kind: Dtype, bytes: &[u8], sizes: Vec<usize>| {
            let view = TensorView::new(kind, sizes, bytes).unwrap();
            std::fs::write(&file, serialize([("arr_0", view)], None).unwrap()).unwrap();
        };
        let integers: [(Dtype, &[u8], [i64; 2]); 6] = [
            (Dtype::I8, &[0xff, 1], [-1, 1]),
            (Dtype::U8, &[0xff, 1], [255, 1]),
            (Dtype::I16, &[0xff, 0xff, 1, 0], [-1, 1]),
            (Dtype::U16, &[0xff, 0xff, 1, 0], [65535, 1]),
            (Dtype::I32, &[0xfe, 0xff, 0xff, 0xff, 1, 0, 0, 0], [-2, 1]),
            (Dtype::U32, &[0xfe, 0xff, 0xff, 0xff, 1, 0, 0, 0], [4_294_967_294, 1]),
        ];
        for (kind, bytes, values) in integers {
            write(kind, bytes, vec![2]);
            let read = load_safetensors_like(&file, &Tensor::<i64>::zeros(2).unwrap()).unwrap();
            assert_eq!(read.to_vec(), values, "{kind:?}");
            assert!(load_safetensors_like(&file, &Tensor::<f64>::zeros(2).unwrap()).is_err());
        }
        for (kind, bytes) in [(Dtype::F16, [0, 0xc1]), (Dtype::BF16, [0x20, 0xc0])] {
            write(kind, &bytes, vec![]);
            assert_eq!(load_safetensors_like(&file, &Tensor::from(0.0f64)).unwrap(), -2.5);
            assert_eq!(load_safetensors_like(&file, &Tensor::from(0.0f32)).unwrap(), -2.5);
        }
        let text = |like: &Tensor<f64>| {
            let error = load_safetensors_like(&file, like).unwrap_err().to_string();
            error.replace(&file.display().to_string(), "x.safetensors")
        };
        write(Dtype::F32, &[0; 8], vec![2]);
        insta::assert_snapshot!(text(&Tensor::from([0.0, 0.0])));
        write(Dtype::U64, &[0; 8], vec![]);
        insta::assert_snapshot!(text(&Tensor::from(0.0)));
        std::fs::write(&file, b"\x04\0\0\0\0\0\0\0{no}").unwrap();
        insta::assert_snapshot!(text(&Tensor::from(0.0)));
        std::fs::remove_file(&file).unwrap();
        insta::assert_snapshot!(text(&Tensor::from(0.0)));
    }
}

#[cfg(feature = "ndarray")]
mod ndarray_arrays {
    use ndarray::{Array, Array1, Array2, Array3, ArrayD, IxDyn, array, s};

    use super::*;

    #[test]
    fn arrays_become_tensors_and_come_back() {
        let mut rng = Rng::new(3);
        for _ in 0..50 {
            let rank = rng.below(5);
            let sizes: Vec<usize> = (0..rank).map(|_| rng.below(4)).collect();
            let count: usize = sizes.iter().product();
            let elements: Vec<f64> = (0..count).map(|n| n as f64).collect();
            let a = ArrayD::from_shape_vec(IxDyn(&sizes), elements.clone()).unwrap();
            let tensor = Tensor::from_ndarray(&a).unwrap();
            assert_eq!((tensor.shape(), tensor.to_vec()), (&sizes[..], elements));
            assert_eq!(tensor.to_ndarray::<IxDyn>().unwrap(), a);
            assert_eq!(Tensor::try_from(a.clone()).unwrap(), tensor);
            // Axes the other way round: not in row-major order.
            let turned = a.reversed_axes();
            let reversed: Vec<usize> = sizes.iter().rev().copied().collect();
            let columns = Tensor::try_from(turned.clone()).unwrap();
            assert_eq!(columns.shape(), reversed);
            assert_eq!(columns.to_vec(), turned.iter().copied().collect::<Vec<_>>());
            assert_eq!(columns.to_ndarray::<IxDyn>().unwrap(), turned);
        }
    }

    #[test]
    fn slices_keep_their_own_elements_only() {
        let mut a: Array1<i64> = (0..10).collect();
        a.slice_collapse(s![3..7]);
        assert_eq!(Tensor::try_from(a).unwrap(), Tensor::from([3, 4, 5, 6]));
        let mut b = array![[1, 2], [3, 4], [5, 6]];
        b.slice_collapse(s![1..;-1, ..]);
        assert_eq!(Tensor::try_from(b).unwrap(), Tensor::from([[5, 6], [3, 4]]));
        let c: Array2<i64> = Array::zeros((0, 3));
        assert_eq!(Tensor::try_from(c).unwrap().shape(), [0, 3]);
    }

    #[test]
    fn ranks_are_checked() {
        let tensor = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
        let back: Array2<f64> = (&tensor).try_into().unwrap();
        assert_eq!(back, array![[1.0, 2.0], [3.0, 4.0]]);
        let wrong: cotan::Result<Array3<f64>> = tensor.to_ndarray();
        insta::assert_snapshot!(wrong.unwrap_err().to_string());
        let deep = ArrayD::<f64>::zeros(vec![1; 65]);
        insta::assert_snapshot!(Tensor::from_ndarray(&deep).unwrap_err().to_string());
        assert!(Tensor::try_from(deep).is_err());
    }
}

/// Structures whose shapes, lengths and options only the file knows.
mod shapes_of_the_file {
    use cotan::optim::{Adam, AdamState, AdamW, Optimizer, RmsProp, Sgd};
    use cotan::structure::map_tensors;

    use super::*;

    #[derive(Arrays, Clone, Debug, PartialEq)]
    struct Layer<A> {
        weights: A,
        bias: Option<A>,
    }

    #[derive(Arrays, Clone, Debug, PartialEq)]
    struct Net<A, I> {
        layers: Vec<Layer<A>>,
        pair: (A, [A; 2]),
        ids: Option<I>,
        nested: Option<Vec<Option<A>>>,
        none: (),
    }

    type Concrete = Net<Tensor<f64>, Tensor<i64>>;

    fn nets() -> Vec<Concrete> {
        let scalar = || Tensor::from(0.5);
        let layer = |n: usize, bias: bool| Layer {
            weights: Tensor::full([n, n + 1], n as f64).unwrap(),
            bias: bias.then(|| Tensor::<f64>::zeros(n + 1).unwrap()),
        };
        let net = |layers: Vec<Layer<Tensor<f64>>>, ids, nested| Net {
            layers,
            pair: (scalar(), [scalar(), Tensor::from([1.0])]),
            ids,
            nested,
            none: (),
        };
        vec![
            net(vec![], None, None),
            net(vec![layer(2, true), layer(3, false)], Some(Tensor::from([1, 2])), None),
            net((0..12).map(|n| layer(n, n % 3 == 0)).collect(), None, Some(vec![Some(scalar())])),
        ]
    }

    #[test]
    fn files_say_shapes_lengths_and_options() {
        let folder = Folder::new("shapes");
        for net in nets() {
            let file = folder.0.join("net.npz");
            save_npz(&file, &net).unwrap();
            assert_eq!(load_npz::<Concrete>(&file).unwrap(), net);
            assert_eq!(load_npz_like(&file, &net).unwrap(), net);
            #[cfg(feature = "safetensors")]
            {
                let file = folder.0.join("net.safetensors");
                cotan::save_safetensors(&file, &net).unwrap();
                assert_eq!(cotan::load_safetensors::<Concrete>(&file).unwrap(), net);
            }
        }
        let single = folder.0.join("single.npz");
        save_npz(&single, &Tensor::from([[1.0, 2.0]])).unwrap();
        assert_eq!(load_npz::<Tensor<f64>>(&single).unwrap(), Tensor::from([[1.0, 2.0]]));
        let some: Option<Tensor<f64>> = load_npz(&single).unwrap();
        assert_eq!(some, Some(Tensor::from([[1.0, 2.0]])));
    }

    #[test]
    fn files_that_differ_are_refused() {
        let folder = Folder::new("differ");
        let file = folder.0.join("x.npz");
        let text =
            |error: cotan::Error| error.to_string().replace(&file.display().to_string(), "x.npz");
        let mut texts = Vec::new();
        save_npz(&file, &(Tensor::from([1.0f32, 2.0]), Tensor::from(1))).unwrap();
        texts.push(text(load_npz::<(Tensor<f64>, Tensor<f64>)>(&file).unwrap_err()));
        texts.push(text(load_npz::<(Tensor<f32>,)>(&file).unwrap_err()));
        texts.push(text(load_npz::<Concrete>(&file).unwrap_err()));
        texts.push(text(load_npz::<Saved>(&file).unwrap_err()));
        // Of numbers with a gap, one is missing and one left over.
        let gap = [("0", Tensor::from(1.0)), ("18446744073709551615", Tensor::from(2.0))];
        let gap = gap.map(|(name, tensor)| (name, tensor.as_array().clone()));
        cotan_array::npz::write_file(&file, &gap).unwrap();
        texts.push(text(load_npz::<Vec<Tensor<f64>>>(&file).unwrap_err()));
        insta::assert_snapshot!(texts.join("\n"));
    }

    /// Trains half of the steps, saves, loads, and trains the rest: as if nothing had happened.
    fn resumes<M: Optimizer<Concrete>>(method: &M)
    where
        M::State: PartialEq + std::fmt::Debug + Clone,
    {
        let folder = Folder::new("resume");
        let file = folder.0.join("checkpoint.npz");
        let start = nets().remove(1);
        let run = |state: &mut M::State, mut p: Concrete, steps: usize| {
            for n in 0..steps {
                let gradient = map_tensors(&p, |x| (x + n as f64).sin()).unwrap();
                p = method.step(state, &p, &gradient).unwrap();
            }
            p
        };
        let mut state = method.init(&start).unwrap();
        let half = run(&mut state, start, 5);
        save_npz(&file, &(half.clone(), state.clone())).unwrap();
        let (read, mut read_state): (Concrete, M::State) = load_npz(&file).unwrap();
        assert_eq!((&read, &read_state), (&half, &state));
        assert_eq!(run(&mut read_state, read, 5), run(&mut state, half, 5));
    }

    #[test]
    fn training_resumes_where_it_was() {
        resumes(&Adam::new(0.1));
        resumes(&AdamW::new(0.1, 0.01));
        resumes(&Sgd { momentum: 0.9, ..Sgd::new(0.1) });
        resumes(&RmsProp::new(0.1));
    }

    #[test]
    fn states_that_say_nonsense_are_refused() {
        let (adam, p) = (Adam::new(0.1), Tensor::from([1.0]));
        for step in [Tensor::from(-1), Tensor::from([1, 2])] {
            let mut state: AdamState<Tensor<f64>> = AdamState { step, ..adam.init(&p).unwrap() };
            let error = adam.step(&mut state, &p, &p).unwrap_err();
            assert!(error.message().starts_with("a state whose number of steps is"), "{error}");
        }
    }

    #[test]
    fn options_are_arguments_and_results() {
        let f = |x: Arr<f64>, scale: Option<Arr<f64>>| {
            (scale.map(|s| s * x), scale.is_some() as usize as f64 * x)
        };
        let compiled = jit(f);
        let (some, x) = compiled.call((2.0, Some(3.0))).unwrap();
        assert_eq!((some.unwrap().item(), x.item()), (Some(6.0), Some(2.0)));
        let absent: Option<Tensor<f64>> = None;
        let (none, x) = compiled.call((2.0, &absent)).unwrap();
        assert_eq!((none, x.item()), (None, Some(0.0)));
        // They are compiled for what they have.
        assert_eq!(compiled.cache().entries.len(), 2);
        let fixed = compile(f, ((), None::<()>)).unwrap();
        let error = fixed.call((2.0, Some(3.0))).unwrap_err();
        assert!(error.message().contains("None"), "{error}");
        let nested: Option<Option<Arr<f64>>> = None;
        let shown = |tree: cotan::structure::Tree| tree.to_string();
        assert_eq!(shown(nested.tree()), "None");
        for value in [None, Some(None), Some(Some(Tensor::from(1.0)))] {
            let again = jit(|x: Option<Option<Arr<f64>>>| x).call(&value).unwrap();
            assert_eq!(again, value);
        }
        let by = grad(|p: (Arr<f64>, Option<Arr<f64>>)| p.0 * p.0);
        assert_eq!(by.call((3.0, absent)).unwrap(), (Tensor::from(6.0), None));
    }
}
