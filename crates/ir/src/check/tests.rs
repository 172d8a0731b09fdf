//! The checker accepts what the builder makes, and each kind of damage is found.

use cotan_array::{Array, Dtype, Shape};

use crate::operands::Operands;
use crate::routine::Routine;
use crate::scalar::Op;
use crate::term::{
    Extreme, Kind, Levels, MapAccum, Node, Output, Param, Program, Region, RegionId, TermId, Type,
    While,
};
use crate::{Builder, Interval};

fn ty(dtype: Dtype, dims: &[usize]) -> Type {
    Type::new(dtype, Shape::new("test", dims).unwrap())
}

/// Changes the first node that fits the pattern.
macro_rules! change {
    ($p:expr, $pattern:pat => $change:expr) => {
        assert!($p.arena.nodes.iter_mut().any(|node| match node {
            $pattern => {
                $change;
                true
            }
            _ => false,
        }))
    };
}

/// A program with every former.
fn sample() -> Program {
    let mut b = Builder::new();
    let a = b.input("a", ty(Dtype::F64, &[4, 3])).unwrap();
    let n = b.input("n", ty(Dtype::I64, &[])).unwrap();
    let two = b.scalar(2i64).unwrap();
    let r = b.index_function(&[5], |b, is| Ok(vec![b.op(Op::Sub, &[is[0], n])?])).unwrap();
    let gathered = b.gather(a, r).unwrap();
    let halves =
        b.index_function(&[5, 3], |b, is| Ok(vec![b.op(Op::FloorDiv, &[is[0], two])?])).unwrap();
    let scattered = b.scatter(&[7], gathered, halves).unwrap();
    let stacked = b.stack(&[scattered, scattered]).unwrap();
    let turned = b.transpose(&[1, 0], stacked).unwrap();
    let flat = b.reshape(&[14], turned).unwrap();
    let sorted = b.arg_sort(flat).unwrap();
    let largest = b.arg_extreme(Extreme::Max, flat).unwrap();
    let by_id = b.segment_arg(Extreme::Min, 4, flat, sorted).unwrap();
    let best = b.index(flat, &[largest]).unwrap();
    let positive = b.op(Op::Lt, &[n, two]).unwrap();
    let zero = b.scalar(0.0).unwrap();
    let chosen = b.cond(positive, best, zero).unwrap();
    let built = b
        .build(3, |b, i| {
            b.build(2, |b, j| {
                let ij = b.op(Op::Mul, &[i, j])?;
                let x = b.index(a, &[ij, i])?;
                b.op(Op::Add, &[x, chosen])
            })
        })
        .unwrap();
    let sum = b.sum_outer(built).unwrap();
    let hot = b.one_hot(&[4], sum, &[n]).unwrap();
    let copies = b.replicate(2, hot).unwrap();
    let iota = b.iota(4).unwrap();
    let params = [Param::Value(ty(Dtype::F64, &[])), Param::Value(ty(Dtype::I64, &[]))];
    let step = b
        .lambda(&params, |b, xs| {
            let x = b.op(Op::ToF64, &[xs[1]])?;
            Ok(vec![b.op(Op::Add, &[xs[0], x])?, x])
        })
        .unwrap();
    let (init, inputs) = (vec![chosen].into(), vec![iota].into());
    let m = MapAccum { length: 4, reverse: true, init, inputs, step };
    let scan = b.map_accum(m).unwrap();
    let (last, all) = (b.result(scan, 0).unwrap(), b.result(scan, 1).unwrap());
    let step = b
        .lambda(&params, |b, s| {
            let running = b.op(Op::Lt, &[s[1], n])?;
            let next = b.op(Op::Sub, &[s[1], two])?;
            Ok(vec![running, s[0], next, s[1]])
        })
        .unwrap();
    let w = While { bound: Some(3), init: [last, n].into(), step };
    let looped = b.while_accum(w).unwrap();
    let steps = b.result(looped, 2).unwrap();
    let square = Array::from_vec(Shape::new("test", &[2, 2]).unwrap(), vec![4.0, 2.0, 2.0, 9.0]);
    let square = b.constant(&square.unwrap()).unwrap();
    let root = b.routine(Routine::Cholesky, &[square]).unwrap();
    let outputs = [
        ("sorted", sorted),
        ("by_id", by_id),
        ("root", root),
        ("copies", copies),
        ("last", last),
        ("all", all),
        ("steps", steps),
    ];
    b.finish(outputs.map(|(name, term)| Output { name: name.to_string(), term }).to_vec()).unwrap()
}

#[test]
fn every_former_is_accepted() {
    let program = sample();
    program.check().unwrap();
    let mut names: Vec<&str> = program.terms().map(|t| program.node(t).name()).collect();
    names.sort_unstable();
    names.dedup();
    for former in [
        "argmax_outer",
        "argsort_outer",
        "build",
        "cholesky",
        "cond",
        "const",
        "gather",
        "index",
        "input",
        "iota",
        "map_accum",
        "one_hot",
        "replicate",
        "reshape",
        "result",
        "scatter",
        "segment_argmin_outer",
        "stack",
        "sum_outer",
        "while_accum",
        "transpose",
        "variable",
    ] {
        assert!(names.contains(&former), "the sample has no {former}");
    }
}

#[test]
fn small_and_empty_programs_are_accepted() {
    Builder::new().finish(vec![]).unwrap().check().unwrap();
    let mut b = Builder::new();
    let a = b.input("a", ty(Dtype::F64, &[0, 2])).unwrap();
    let rows = b.build(0, |b, i| b.index(a, &[i])).unwrap();
    b.finish_one(rows).unwrap().check().unwrap();
}

#[test]
fn a_long_chain_takes_no_stack() {
    let mut b = Builder::new();
    let mut x = b.input("x", ty(Dtype::F64, &[])).unwrap();
    for _ in 0..300_000 {
        x = b.op(Op::Sin, &[x]).unwrap();
    }
    let program = b.finish_one(x).unwrap();
    let check = move || program.check().unwrap();
    std::thread::Builder::new().stack_size(64 << 10).spawn(check).unwrap().join().unwrap();
}

/// A variable of one lambda used in the next of the same depth, which the builder cannot see.
#[test]
fn a_variable_of_a_sibling_lambda_is_found() {
    let mut b = Builder::new();
    let mut leaked = None;
    b.build(3, |_, i| {
        leaked = Some(i);
        Ok(i)
    })
    .unwrap();
    let wrong = b.build(5, |b, i| b.op(Op::Add, &[i, leaked.unwrap()])).unwrap();
    let error = b.finish_one(wrong).unwrap().check().unwrap_err().to_string();
    assert!(error.contains("not one of its variables"), "{error}");
}

/// `build 3 (\i -> gather (replicate 2 i) (\j -> j))` with the `j` of a lambda that lies beside the
/// outer one, not inside it: its variable would hide `i`.
#[test]
fn a_lambda_that_hides_what_it_captures_is_found() {
    let mut b = Builder::new();
    let beside = b.index_function(&[2], |_, is| Ok(is.to_vec())).unwrap();
    let nest = b
        .build(3, |b, i| {
            let row = b.replicate(2, i)?;
            let inside = b.index_function(&[2], |_, is| Ok(is.to_vec()))?;
            b.gather(row, inside)
        })
        .unwrap();
    let mut program = b.finish_one(nest).unwrap();
    program.check().unwrap();
    change!(program, Node::Gather(_, r) => *r = beside);
    let error = program.check().unwrap_err().to_string();
    assert!(error.contains("its lambda has level 1, within"), "{error}");
}

/// The first node that fits.
fn find(p: &Program, fits: impl Fn(&Node) -> bool) -> usize {
    p.arena.nodes.iter().position(fits).unwrap()
}

/// The region of the loop.
fn step(p: &mut Program) -> &mut Region {
    let is_loop = |n: &Node| matches!(n, Node::MapAccum(_));
    let r = p.arena.nodes.iter().find(|n| is_loop(n)).and_then(Node::region).unwrap();
    &mut p.arena.regions[r.index()]
}

/// Records something else of a node.
fn set_kind(p: &mut Program, t: usize, change: impl Fn(Kind) -> Kind) {
    let kind = p.arena.kinds[p.arena.kind_of[t] as usize];
    p.arena.kind_of[t] = p.arena.kinds.len() as u32;
    p.arena.kinds.push(change(kind));
}

/// Records other free variables of a node.
fn set_free(p: &mut Program, t: usize, free: Levels) {
    set_kind(p, t, |kind| Kind { free, ..kind });
}

/// What to damage, what the checker must say, and how to damage it.
type Damage = (&'static str, &'static str, fn(&mut Program));

const FAR: TermId = TermId::new(9_999);

const DAMAGES: &[Damage] = &[
    ("a record is lost", "as many records as nodes", |p| {
        p.arena.kind_of.pop();
    }),
    ("a type is lost", "a type that does not exist", |p| p.arena.types.truncate(1)),
    ("a type is listed twice", "listed twice", |p| {
        let first = p.arena.types[0].clone();
        p.arena.types.push(first);
    }),
    ("two inputs of one name", "the name `a` is taken", |p| {
        p.arena.inputs[1].name = "a".to_string();
    }),
    ("an input without a node", "there is no node for it", |p| {
        let more = p.arena.inputs[0].clone();
        p.arena.inputs.push(crate::Input { name: "more".to_string(), ..more });
    }),
    ("a node for no input", "there is no node for it", |p| {
        change!(p, Node::Input(k) => *k = 7);
    }),
    ("the declared type of an input", "recorded as [4, 3]f64", |p| {
        p.arena.inputs[0].ty.dtype = Dtype::F32;
    }),
    ("a region of level 0", "level 0 is not between", |p| p.arena.regions[0].level = 0),
    ("a region too deep", "level 61 is not between", |p| p.arena.regions[0].level = 61),
    ("parameters out of order", "parameter 0 is not variable 0", |p| {
        let region = p.arena.regions.iter_mut().find(|r| r.params.len() == 2).unwrap();
        region.params.swap(0, 1);
    }),
    ("a parameter that is no variable", "parameter 0 is not variable 0", |p| {
        p.arena.regions[0].params[0] = TermId::new(0);
    }),
    ("a result of a region that does not exist", "result 0 does not exist", |p| {
        p.arena.regions[0].results[0] = FAR;
    }),
    ("a result of a region with several results", "result 0 is not one array", |p| {
        let scan = find(p, |n| matches!(n, Node::MapAccum(_)));
        p.arena.regions[0].results[0] = TermId::new(scan as u32);
    }),
    ("a result of a region after its user", "does not come before", |p| {
        let hot = find(p, |n| matches!(n, Node::ArgExtreme(..)));
        p.arena.regions[0].results[0] = TermId::new(hot as u32);
    }),
    ("an operand after its user", "operand 9999 does not come before", |p| {
        change!(p, Node::SumOuter(t) => *t = FAR);
    }),
    ("an operand that is its user", "does not come before", |p| {
        let t = find(p, |n| matches!(n, Node::Reshape(..)));
        change!(p, Node::Reshape(_, u) => *u = TermId::new(t as u32));
    }),
    ("an operand with several results", "has one result", |p| {
        change!(p, Node::Result(t, _) => *t = TermId::new(0));
    }),
    ("a result that does not exist", "has no result 5", |p| {
        change!(p, Node::Result(_, n) => *n = 5);
    }),
    ("a result of what comes later", "does not come before", |p| {
        change!(p, Node::Result(t, _) => *t = FAR);
    }),
    ("a condition that is a number", "the condition is f64", |p| {
        change!(p, Node::Cond(b, u, _) => *b = *u);
    }),
    ("branches of different types", "the branches are", |p| {
        change!(p, Node::Cond(_, u, _) => *u = TermId::new(0));
    }),
    ("arguments of different shapes", "different shapes", |p| {
        change!(p, Node::Op(Op::Lt, args) => args[0] = TermId::new(0));
    }),
    ("arguments of different types", "does not take [F64, I64]", |p| {
        let best = find(p, |n| matches!(n, Node::Index(..)));
        change!(p, Node::Op(Op::Lt, args) => args[0] = TermId::new(best as u32));
    }),
    ("an operation without arguments", "there are no arguments", |p| {
        change!(p, Node::Op(Op::Lt, args) => *args = Operands::new(&[]));
    }),
    ("an operation with one argument too few", "does not take [I64]", |p| {
        change!(p, Node::Op(Op::Lt, args) => *args = Operands::new(&args[..1]));
    }),
    ("an index of too many components", "fewer than 3 axes", |p| {
        change!(p, Node::Index(_, ix) => *ix = vec![TermId::new(1); 3].into());
    }),
    ("an index that is a float", "index component", |p| {
        change!(p, Node::Index(t, ix) => *ix = vec![*t].into());
    }),
    ("a sum of no axis", "fewer than 1 axes", |p| {
        change!(p, Node::SumOuter(t) => *t = TermId::new(1));
    }),
    ("a gather of a scalar", "fewer than 1 axes", |p| {
        change!(p, Node::Gather(t, _) => *t = TermId::new(1));
    }),
    ("a gather through a region that does not exist", "region 77 does not exist", |p| {
        change!(p, Node::Gather(_, r) => *r = RegionId(77));
    }),
    ("a scatter of other sizes", "are not the leading sizes", |p| {
        change!(p, Node::Scatter(_, t, _) => *t = TermId::new(0));
    }),
    ("a scatter into too many axes", "1 index components for leading sizes [7, 1]", |p| {
        change!(p, Node::Scatter(outer, _, _) => **outer = Shape::new("test", &[7, 1]).unwrap());
    }),
    ("a scatter into other sizes", "recorded as", |p| {
        change!(p, Node::Scatter(outer, _, _) => **outer = Shape::new("test", &[8]).unwrap());
    }),
    ("an empty stack", "nothing is stacked", |p| {
        change!(p, Node::Stack(ts) => *ts = Box::new([]));
    }),
    ("a stack of different types", "different types", |p| {
        change!(p, Node::Stack(ts) => ts[1] = TermId::new(0));
    }),
    ("another number of copies", "has type [3, 4, 2]f64, but is recorded as [2, 4, 2]f64", |p| {
        change!(p, Node::Replicate(k, _) => *k = 3);
    }),
    ("a permutation that is none", "is not a permutation", |p| {
        change!(p, Node::Transpose(perm, _) => perm[0] = 0);
    }),
    ("a permutation of too many axes", "fewer than 3 axes", |p| {
        change!(p, Node::Transpose(perm, _) => *perm = vec![0, 1, 2].into());
    }),
    ("a reshape to another number of elements", "does not have the elements", |p| {
        change!(p, Node::Reshape(sh, _) => **sh = Shape::new("test", &[15]).unwrap());
    }),
    ("a build over two indices", "one index and one result", |p| {
        change!(p, Node::Build1(r) => *r = RegionId(1));
    }),
    ("another length of iota", "recorded as [4]i64", |p| {
        change!(p, Node::Iota(k) => *k = 5);
    }),
    ("a one-hot with a component too few", "0 index components", |p| {
        change!(p, Node::OneHot(_, _, ix) => **ix = Box::new([]));
    }),
    ("a one-hot of truth values", "is not numeric", |p| {
        let truth = find(p, |n| matches!(n, Node::Op(Op::Lt, _)));
        change!(p, Node::OneHot(_, v, _) => *v = TermId::new(truth as u32));
    }),
    ("the extreme of a scalar", "fewer than 1 axes", |p| {
        change!(p, Node::ArgExtreme(_, t) => *t = TermId::new(1));
    }),
    ("the order of a scalar", "fewer than 1 axes", |p| {
        change!(p, Node::ArgSort(t) => *t = TermId::new(1));
    }),
    ("the segments of a scalar", "fewer than 1 axes", |p| {
        change!(p, Node::SegmentArg(_, _, t, _) => *t = TermId::new(1));
    }),
    ("ids of another shape", "ids [4, 3]f64 for the elements of", |p| {
        change!(p, Node::SegmentArg(_, _, _, ids) => *ids = TermId::new(0));
    }),
    ("ids that are no integers", "ids [14]f64 for the elements of", |p| {
        change!(p, Node::SegmentArg(_, _, t, ids) => *ids = *t);
    }),
    ("another number of segments", "recorded as [4]i64", |p| {
        change!(p, Node::SegmentArg(_, k, _, _) => *k = 5);
    }),
    ("a routine of too few operands", "0 operands for cholesky(a)", |p| {
        change!(p, Node::Routine(_, ts) => *ts = Box::new([]));
    }),
    ("a routine of a matrix that is not square", "the sizes do not fit", |p| {
        change!(p, Node::Routine(_, ts) => ts[0] = TermId::new(0));
    }),
    ("a routine of a scalar", "has no cells", |p| {
        change!(p, Node::Routine(_, ts) => ts[0] = TermId::new(1));
    }),
    ("a state too many", "wrong number of parameters", |p| {
        change!(p, Node::MapAccum(m) => m.init = vec![m.init[0]; 2].into());
    }),
    ("a state of another type", "does not keep its type", |p| {
        change!(p, Node::MapAccum(m) => m.init[0] = TermId::new(1));
    }),
    ("a step without the next state", "wrong number of parameters or results", |p| {
        step(p).results = Box::new([]);
    }),
    ("a next state of another type", "does not keep its type", |p| {
        let step = step(p);
        step.results[0] = step.params[1];
    }),
    ("a state parameter of another type", "does not keep its type", |p| {
        step(p).params[0] = p.arena.regions[0].params[0];
    }),
    ("another number of steps", "not of length 6", |p| {
        change!(p, Node::MapAccum(m) => m.length = 6);
    }),
    ("an input of other elements", "is not stepped through by its elements", |p| {
        change!(p, Node::MapAccum(m) => m.inputs[0] = TermId::new(0));
    }),
    ("a recorded type", "but is recorded as", |p| {
        let t = find(p, |n| matches!(n, Node::ArgSort(_)));
        p.arena.kind_of[t] = p.arena.kind_of[0];
    }),
    ("recorded free variables", "free levels are", |p| {
        let t = find(p, |n| matches!(n, Node::ArgSort(_)));
        set_free(p, t, Levels::just(3));
    }),
    ("forgotten free variables", "free levels are", |p| {
        let t = find(p, |n| matches!(n, Node::Var { .. }));
        set_free(p, t, Levels::NONE);
    }),
    ("a recorded interval", "lies in", |p| {
        let t = find(p, |n| matches!(n, Node::ArgExtreme(..)));
        set_kind(p, t, |kind| Kind { bounds: Interval::new(0, 3), ..kind });
    }),
    ("a variable too deep", "level 0 is not between", |p| {
        let t = find(p, |n| matches!(n, Node::Var { level: 2, .. }));
        let inner = p.arena.regions.iter_mut().find(|r| r.level == 2).unwrap();
        inner.params = Box::new([]);
        match &mut p.arena.nodes[t] {
            Node::Var { level, .. } => *level = 0,
            _ => unreachable!(),
        }
    }),
    ("two equal nodes", "is equal to node 2", |p| {
        let (node, kind) = (p.arena.nodes[2].clone(), p.arena.kind_of[2]);
        p.arena.nodes.push(node);
        p.arena.kind_of.push(kind);
    }),
    ("two equal regions", "is equal to region 0", |p| {
        let region = p.arena.regions[0].clone();
        p.arena.regions.push(region);
    }),
    ("a region before one inside it", "does not come before", |p| {
        let outer = p.arena.regions.iter().position(|r| r.level == 2).unwrap();
        p.arena.regions.swap(outer, outer + 1);
        for node in &mut p.arena.nodes {
            if let Node::Build1(r) = node {
                r.0 = if r.index() == outer { r.0 + 1 } else { r.0 - 1 };
            }
        }
    }),
    ("a result of a region that depends on a deeper variable", "a deeper lambda", |p| {
        let deep = find(p, |n| matches!(n, Node::Var { level: 2, .. }));
        p.arena.regions.push(Region {
            level: 1,
            params: Box::new([]),
            results: Box::new([TermId::new(deep as u32)]),
        });
    }),
    ("an output that does not exist", "output 1: does not exist", |p| p.outputs[1].term = FAR),
    ("an output with several results", "output 0: is not one array", |p| {
        let scan = find(p, |n| matches!(n, Node::MapAccum(_)));
        p.outputs[0].term = TermId::new(scan as u32);
    }),
    ("an output with a free variable", "depends on a variable", |p| {
        let i = find(p, |n| matches!(n, Node::Var { .. }));
        p.outputs[0].term = TermId::new(i as u32);
    }),
    ("an output without a name", "needs a name of its own", |p| p.outputs[0].name.clear()),
    ("two outputs of one name", "needs a name of its own", |p| {
        p.outputs[1].name = p.outputs[0].name.clone();
    }),
];

#[test]
fn every_damage_is_found() {
    for (what, says, damage) in DAMAGES {
        let mut program = sample();
        damage(&mut program);
        match program.check() {
            Ok(()) => panic!("{what}: not found"),
            Err(error) => {
                let error = error.to_string();
                assert!(error.contains(says), "{what}: expected `{says}`, got `{error}`");
            }
        }
    }
}
