//! Structs with `#[derive(Arrays)]` as arguments and results.

use crate::support::check;
use cotan::prelude::*;
use cotan::structure::Tree;

#[derive(Arrays, Clone, Debug, PartialEq)]
struct Layer<A> {
    w: A,
    b: A,
}

#[derive(Arrays, Clone, Debug, PartialEq)]
struct Mlp<A> {
    layers: Vec<Layer<A>>,
    scale: A,
    #[arrays(skip)]
    steps: usize,
}

impl Mlp<Arr<f64>> {
    /// Each layer is a product and a smooth function.
    fn apply(&self, x: Arr<f64>) -> Arr<f64> {
        let last = self.layers.iter().fold(x, |x, layer| {
            let [_, n] = layer.w.dims();
            build(n, |j| (x * build(x.len(), |i| layer.w.at((i, j)))).sum() + layer.b.at(j)).tanh()
        });
        last * self.scale * self.steps as f64
    }
}

fn mlp() -> Mlp<Tensor<f64>> {
    let layer = |n: usize, m: usize, phase: f64| Layer {
        w: Tensor::from_fn([n, m], |ix| (ix[0] as f64 + 0.5 * ix[1] as f64 + phase).sin()).unwrap(),
        b: Tensor::from_fn(m, |ix| 0.1 * ix[0] as f64 - phase).unwrap(),
    };
    Mlp { layers: vec![layer(2, 3, 0.0), layer(3, 2, 1.0)], scale: 0.5.into(), steps: 3 }
}

fn loss(m: Mlp<Arr<f64>>, x: Arr<f64>) -> Arr<f64> {
    m.apply(x).sum()
}

/// The same in plain Rust.
fn plain_loss(m: &Mlp<Tensor<f64>>, x: &[f64]) -> f64 {
    let mut x = x.to_vec();
    for Layer { w, b } in &m.layers {
        let product = |j: usize| -> f64 {
            x.iter().enumerate().map(|(i, x)| x * w.get(&[i, j]).unwrap()).sum()
        };
        x = (0..w.shape()[1]).map(|j| (product(j) + b.get(&[j]).unwrap()).tanh()).collect();
    }
    x.iter().sum::<f64>() * m.scale.item().unwrap() * m.steps as f64
}

#[test]
fn structs_are_arguments_and_gradients() {
    let (m, x) = (mlp(), [0.3, -0.7]);
    let f = compile_like(loss, (&m, x)).unwrap();
    let value = f.call((&m, x)).unwrap().item().unwrap();
    assert!((value - plain_loss(&m, &x)).abs() < 1e-14);
    assert_eq!(
        f.args().to_string(),
        "({ layers: ({ w: [2, 3]f64, b: [3]f64 }, { w: [3, 2]f64, b: [2]f64 }), scale: f64, \
         steps: 3 }, [2]f64)"
    );
    let paths: Vec<String> = f.args().leaves("").into_iter().map(|(path, _)| path).collect();
    let layers = ["0.layers.0.w", "0.layers.0.b", "0.layers.1.w", "0.layers.1.b"];
    assert_eq!(paths, [&layers[..], &["0.scale", "1"]].concat());
    check(loss, (&m, x));

    let (again, gradient) = value_and_grad(loss).call((&m, x)).unwrap();
    assert_eq!(again, value);
    assert_eq!(gradient.steps, 3);
    // The loss is linear in the scale.
    let by_scale = gradient.scale.item().unwrap();
    assert!((by_scale * m.scale.item().unwrap() - value).abs() < 1e-14);
    // By one weight, against differences.
    let moved = |h: f64| {
        let mut m = m.clone();
        let mut w = m.layers[0].w.to_vec();
        w[1] += h;
        m.layers[0].w = Tensor::new([2, 3], w).unwrap();
        plain_loss(&m, &x)
    };
    let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
    assert!((gradient.layers[0].w.get(&[0, 1]).unwrap() - slope).abs() < 1e-8);
    // One step of gradient descent is a function to the struct.
    let step = jit(|m: Mlp<Arr<f64>>, x: Arr<f64>| {
        let g = grad(loss).at((m.clone(), x));
        let layers = m.layers.iter().zip(&g.layers);
        let layers = layers.map(|(p, g)| Layer { w: p.w - 0.1 * g.w, b: p.b - 0.1 * g.b });
        Mlp { layers: layers.collect(), scale: m.scale - 0.1 * g.scale, steps: m.steps + 1 }
    });
    let next = step.call((m.clone(), x)).unwrap();
    assert_eq!((next.steps, next.layers.len()), (4, 2));
    let plain = m.scale.item().unwrap() - 0.1 * by_scale;
    // The machine rounds a product with its sum.
    assert!((next.scale.item().unwrap() - plain).abs() <= 2.0 * f64::EPSILON);
    assert!(plain_loss(&next, &x) / 4.0 < value / 3.0);
}

#[test]
fn all_derivatives_come_back_as_structs() {
    let at = Layer { w: Tensor::from(3.0), b: Tensor::from([2.0, 5.0]) };
    let f = |l: Layer<Arr<f64>>| l.w * l.w * l.b.at(0) + l.b.at(1) * l.b.at(1);
    let seed = Layer { w: Tensor::from(1.0), b: Tensor::from([10.0, 100.0]) };

    let (y, dl) = vjp(f).call((&at, 2.0)).unwrap();
    assert_eq!((y.item(), dl.w.item(), dl.b.to_vec()), (Some(43.0), Some(24.0), vec![18.0, 20.0]));
    let (_, dy) = jvp(f).call((&at, &seed)).unwrap();
    assert_eq!(dy, 12.0 + 90.0 + 1000.0);
    let second = hvp(f).call((&at, &seed)).unwrap();
    // Rows of the Hessian times the seed: [4, 6, 0], [6, 0, 0], [0, 0, 2].
    assert_eq!((second.w.item(), second.b.to_vec()), (Some(64.0), vec![6.0, 200.0]));
    let h = hessian(f).call(&at).unwrap();
    assert_eq!((h.w.w.item(), h.w.b.to_vec()), (Some(4.0), vec![6.0, 0.0]));
    assert_eq!((h.b.w.to_vec(), h.b.b), (vec![6.0, 0.0], Tensor::from([[0.0, 0.0], [0.0, 2.0]])));

    // A Jacobian has the structure of the result, and in it that of the argument.
    let swap = |l: Layer<Arr<f64>>| Layer { w: l.b, b: l.w * l.b.at(0) };
    for j in [jacobian(swap).call(&at).unwrap(), jacrev(swap).call(&at).unwrap()] {
        assert_eq!((j.w.w.to_vec(), j.w.b), (vec![0.0; 2], Tensor::from([[1.0, 0.0], [0.0, 1.0]])));
        assert_eq!((j.b.w.item(), j.b.b.to_vec()), (Some(2.0), vec![3.0, 0.0]));
    }
    let aux = |l: Layer<Arr<f64>>| (f(l.clone()), l);
    let ((_, same), dl) = value_and_grad_aux(aux).call(&at).unwrap();
    assert_eq!((same, dl.w.item()), (at.clone(), Some(12.0)));
    let by_second = grad(|x: Arr<f64>, l: Layer<Arr<f64>>| x * f(l)).wrt(Arg::<1>);
    assert_eq!(by_second.call((2.0, &at)).unwrap().b.to_vec(), [18.0, 20.0]);
}

#[test]
fn structs_under_build_become_structs_of_arrays() {
    let f = |x: Arr<f64>| {
        build(x.len(), |i| Mlp {
            layers: vec![Layer { w: x.at(i), b: x * x.at(i) }],
            scale: x.at(i) * 2.0,
            steps: 7,
        })
    };
    let m = jit(f).call([1.0, 3.0]).unwrap();
    assert_eq!(m.layers[0].w.to_vec(), [1.0, 3.0]);
    assert_eq!(m.layers[0].b, Tensor::from([[1.0, 3.0], [3.0, 9.0]]));
    assert_eq!((m.scale.to_vec(), m.steps), (vec![2.0, 6.0], 7));
    check(f, [1.0, 3.0, -2.0]);
}

#[derive(Arrays, Clone, Debug, Default, PartialEq)]
struct Nothing;

#[derive(Arrays, Clone, Debug, PartialEq)]
struct Pair<X, Y>(X, (Y, [Y; 2]), Nothing);

#[derive(Arrays, Clone, Debug, PartialEq)]
struct Odd<A, K: Copy, const N: usize = 2>
where
    K: Ord,
{
    r#type: [Pair<A, A>; N],
    #[arrays(skip)]
    kinds: [K; 3],
    unit: (),
}

#[derive(Arrays, Clone, Debug, PartialEq)]
struct Settings {
    #[arrays(skip)]
    name: String,
}

#[test]
fn any_struct_keeps_its_form() {
    let pair =
        |x: f64| Pair(Tensor::from(x), (Tensor::from([x; 2]), [x.into(), x.into()]), Nothing);
    let odd = Odd { r#type: [pair(1.0), pair(2.0)], kinds: [3u8, 1, 2], unit: () };
    let same = jit(|o: Odd<Arr<f64>, u8>, s: Settings| (o, s));
    let settings = Settings { name: "plain".into() };
    assert_eq!(same.call((&odd, &settings)).unwrap(), (odd.clone(), settings.clone()));
    let f = |o: Odd<Arr<f64>, u8>| {
        let [Pair(a, (b, [c, _]), Nothing), Pair(d, ..)] = o.r#type;
        (a * d * c * b).sum() * f64::from(o.kinds[0])
    };
    let gradient = grad(f).call(odd.clone()).unwrap();
    assert_eq!(gradient.r#type[1].0, 6.0);
    assert_eq!(gradient.r#type[0].1.0.to_vec(), [6.0, 6.0]);
    assert_eq!(gradient.kinds, odd.kinds);
    check(f, odd);
    // Element types differ by parameter.
    let gather = |p: Pair<Arr<f64>, Arr<i64>>| p.0.at(p.1.0) + p.1.1[0].cast::<f64>();
    let at =
        Pair(Tensor::from([5.0, 7.0]), (Tensor::from(1), [Tensor::from(2), 0.into()]), Nothing);
    assert_eq!(jit(gather).call(&at).unwrap(), 9.0);
    let tree = compile_like(gather, &at).unwrap().args().clone();
    assert_eq!(tree.to_string(), "([2]f64, (i64, (i64, i64)), ())");
    assert_eq!(tree.part(2), Some(&Tree::numbered([])));
}

mod hygiene {
    //! Names of the user's are never mistaken for those of the macro, and the other way round.

    #![allow(non_upper_case_globals, dead_code, reason = "names that could be captured")]

    pub mod elsewhere {
        pub use cotan as renamed;
    }

    mod cotan {}
    mod std {}
    mod core {}
    struct Result;
    struct Vec;
    struct Tree;
    const tree: u8 = 0;
    const leaves: u8 = 0;
    const part0: u8 = 0;

    // `::cotan` is not the module `cotan`, and `W` is not that of the macro.
    #[derive(::cotan::Arrays)]
    pub struct Captured<W> {
        pub tree: W,
        pub leaves: W,
    }

    #[derive(self::elsewhere::renamed::Arrays)]
    #[arrays(crate = self::elsewhere::renamed)]
    pub struct Renamed<A>(pub A);
}

#[test]
fn derived_code_minds_its_names() {
    let f = |c: hygiene::Captured<Arr<f64>>, r: hygiene::Renamed<Arr<f64>>| c.tree * c.leaves * r.0;
    let at = hygiene::Captured { tree: Tensor::from(2.0), leaves: Tensor::from(3.0) };
    assert_eq!(grad(f).call((&at, hygiene::Renamed(5.0.into()))).unwrap().tree, 15.0);
}
