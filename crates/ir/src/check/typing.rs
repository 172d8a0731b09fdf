//! The typing rules of Fig. core-typing: one arm per former, the rule above it.

use cotan_array::{Dtype, Shape};

use super::{Broken, Checker};
use crate::custom::depends_on;
use crate::routine::Routine;
use crate::term::{
    Custom, CustomKind, MAX_NESTING, MapAccum, Node, Param, Region, RegionId, TermId, Type, While,
};

impl<'a> Checker<'a> {
    /// The type that the rule of its former gives a node.
    pub(super) fn type_of(&self, t: TermId, node: &Node) -> Result<Type, Broken> {
        // `G |- u : Array sh rho` for an operand that comes before `t`.
        let array = |u: &TermId| self.array_before(t, *u);
        match node {
            // c an array of shape sh filled with rhos
            // ---------------------------------------
            // G |- c : Array sh rho
            Node::Const(c) => Ok(Type::of(c)),

            // x : Array sh rho in G
            // ---------------------
            // G |- x : Array sh rho
            Node::Input(k) => match self.arena.inputs.get(*k as usize) {
                Some(input) => Ok(input.ty.clone()),
                None => Err(format!("there is no input {k}")),
            },
            Node::Var { level, param, .. } => {
                if *level == 0 || usize::from(*level) > MAX_NESTING {
                    return Err(format!("level {level} is not between 1 and {MAX_NESTING}"));
                }
                Ok(match &**param {
                    Param::Index(_) => Type::scalar(Dtype::I64),
                    Param::Value(ty) => ty.clone(),
                })
            }

            // cond : Array [] Bool -> Array sh rho -> Array sh rho -> Array sh rho
            Node::Cond(b, u, v) => {
                let (b, u, v) = (array(b)?, array(u)?, array(v)?);
                if *b != Type::scalar(Dtype::Bool) {
                    return Err(format!("the condition is {b}"));
                }
                if u != v {
                    return Err(format!("the branches are {u} and {v}"));
                }
                Ok(u.clone())
            }

            // op : Array sh rho1 -> .. -> Array sh rho, for a typing rho1, .. -> rho of its row
            Node::Op(op, args) => {
                let args: Vec<&Type> = args.iter().map(array).collect::<Result<_, _>>()?;
                let Some(shape) = args.first().map(|ty| &ty.shape) else {
                    return Err("there are no arguments".to_string());
                };
                if args.iter().any(|ty| ty.shape != *shape) {
                    return Err("the arguments have different shapes".to_string());
                }
                let dtypes: Vec<Dtype> = args.iter().map(|ty| ty.dtype).collect();
                match op.result_dtype(&dtypes) {
                    Some(dtype) => Ok(Type::new(dtype, shape.clone())),
                    None => Err(format!("does not take {dtypes:?}")),
                }
            }

            // G |- t : Array [k1, .., kn] rho    G |- ix index m    m <= n
            // ------------------------------------------------------------
            // G |- index t ix : Array [k(m+1), .., kn] rho
            Node::Index(u, ix) => {
                let u = array(u)?;
                self.indices_before(t, ix)?;
                let inner = tail(u, ix.len())?;
                array_type(u.dtype, &[], inner)
            }

            // sumOuter : Array (k ::: sh) rho -> Array sh rho, for numeric rho
            Node::SumOuter(u) => {
                let u = array(u)?;
                numeric(u)?;
                array_type(u.dtype, &[], tail(u, 1)?)
            }

            // G |- t : Array [k1, .., km2, .., kn] rho    G, i1, .., im1 : Int |- ix index m2
            // -------------------------------------------------------------------------------
            // G |- gather t (\i1 .. im1 -> ix) : Array [k'1, .., k'm1, k(m2+1), .., kn] rho
            Node::Gather(u, r) => {
                let u = array(u)?;
                let (sizes, ix) = self.index_function_before(t, *r)?;
                array_type(u.dtype, &sizes, tail(u, ix)?)
            }

            // G |- t : Array [k1, .., km1, .., kn] rho    rho numeric
            // G, i1, .., im1 : Int |- ix index m2
            // ---------------------------------------------------------------------------------
            // G |- scatter [k'1, .., k'm2] t (\i1 .. im1 -> ix)
            //        : Array [k'1, .., k'm2, k(m1+1), .., kn] rho
            Node::Scatter(outer, u, r) => {
                let u = array(u)?;
                numeric(u)?;
                let (sizes, ix) = self.index_function_before(t, *r)?;
                if !u.shape.dims().starts_with(&sizes) {
                    return Err(format!("{sizes:?} are not the leading sizes of {u}"));
                }
                if ix != outer.rank() {
                    return Err(format!("{ix} index components for leading sizes {outer}"));
                }
                array_type(u.dtype, outer.dims(), tail(u, sizes.len())?)
            }

            // G |- t1 : Array sh rho  ..  G |- tn : Array sh rho    n >= 1
            // ------------------------------------------------------------
            // G |- [t1, .., tn] : Array (n ::: sh) rho
            Node::Stack(ts) => {
                let types: Vec<&Type> = ts.iter().map(array).collect::<Result<_, _>>()?;
                let Some(first) = types.first() else {
                    return Err("nothing is stacked".to_string());
                };
                if types.iter().any(|ty| ty != first) {
                    return Err("the elements have different types".to_string());
                }
                array_type(first.dtype, &[ts.len()], first.shape.dims())
            }

            // G |- t : Array sh rho
            // -----------------------------------------
            // G |- replicate k t : Array (k ::: sh) rho
            Node::Replicate(k, u) => {
                let u = array(u)?;
                array_type(u.dtype, &[*k], u.shape.dims())
            }

            // j1, .., jm a permutation of 0, .., m-1    G |- t : Array [k1, .., kn] rho    m <= n
            // -----------------------------------------------------------------------------------
            // G |- tr [j1, .., jm] t : Array [k(j1+1), .., k(jm+1), k(m+1), .., kn] rho
            Node::Transpose(perm, u) => {
                let u = array(u)?;
                let inner = tail(u, perm.len())?;
                let mut sorted = perm.to_vec();
                sorted.sort_unstable();
                if sorted.iter().enumerate().any(|(n, &j)| usize::from(j) != n) {
                    return Err(format!("{perm:?} is not a permutation"));
                }
                let dims = u.shape.dims();
                let outer: Vec<usize> = perm.iter().map(|&j| dims[usize::from(j)]).collect();
                array_type(u.dtype, &outer, inner)
            }

            // G |- t : Array [k1, .., km] rho    k1 * .. * km = k'1 * .. * k'n
            // ----------------------------------------------------------------
            // G |- reshape [k'1, .., k'n] t : Array [k'1, .., k'n] rho
            Node::Reshape(shape, u) => {
                let u = array(u)?;
                if shape.numel() != u.shape.numel() {
                    return Err(format!("{u} does not have the elements of {shape}"));
                }
                Ok(Type::new(u.dtype, (**shape).clone()))
            }

            // G, i : Int |- t : Array sh rho
            // ------------------------------------------------
            // G |- build1 k (\i -> t) : Array (k ::: sh) rho
            Node::Build1(r) => {
                let region = self.region_before(t, *r)?;
                match (&*self.index_sizes(region)?, &*region.results) {
                    ([k], [body]) => {
                        let body = array(body)?;
                        array_type(body.dtype, &[*k], body.shape.dims())
                    }
                    _ => Err("its lambda needs one index and one result".to_string()),
                }
            }

            // iota k : Array [k] Int
            Node::Iota(k) => array_type(Dtype::I64, &[*k], &[]),

            // G |- v : Array sh rho    rho numeric    G |- ix index m
            // -------------------------------------------------------------
            // G |- oneHot [k1, .., km] v ix : Array (k1 ::: .. km ::: sh) rho
            Node::OneHot(outer, v, ix) => {
                let v = array(v)?;
                numeric(v)?;
                self.indices_before(t, ix)?;
                if ix.len() != outer.rank() {
                    return Err(format!("{} index components for sizes {outer}", ix.len()));
                }
                array_type(v.dtype, outer.dims(), v.shape.dims())
            }

            // argmax, argmin : Array (k ::: sh) rho -> Array sh Int
            Node::ArgExtreme(_, u) => array_type(Dtype::I64, &[], tail(array(u)?, 1)?),

            // argsort : Array (k ::: sh) rho -> Array (k ::: sh) Int
            Node::ArgSort(u) => {
                let u = array(u)?;
                tail(u, 1)?;
                Ok(Type::new(Dtype::I64, u.shape.clone()))
            }

            // G |- t : Array (k ::: sh) rho    G |- ids : Array (k ::: sh) Int
            // ----------------------------------------------------------------
            // G |- segmentArgmax m t ids : Array (m ::: sh) Int
            Node::SegmentArg(_, m, u, ids) => {
                let (u, ids) = (array(u)?, array(ids)?);
                let inner = tail(u, 1)?;
                if ids.dtype != Dtype::I64 || ids.shape != u.shape {
                    return Err(format!("ids {ids} for the elements of {u}"));
                }
                array_type(Dtype::I64, &[*m], inner)
            }

            // G |- ti : Array (sh ++ ci) rhoi, for each operand with cells ci of the routine's row
            // ------------------------------------------------------------------------------
            // G |- routine t1 .. tn : Array (sh ++ c) rho
            Node::Routine(routine, ts) => {
                let operands: Vec<&Type> = ts.iter().map(array).collect::<Result<_, _>>()?;
                routine_type(*routine, &operands)
            }

            // G |- s0 : S    G |- xs : k ::: X    G, s : S, x : X |- (s', y) : (S, Y)
            // -----------------------------------------------------------------------
            // G |- mapAccum k (\s x -> (s', y)) s0 xs : (S, k ::: Y)
            Node::MapAccum(m) => {
                self.map_accum(t, m)?;
                // The recorded type of several results means nothing.
                Ok(Type::scalar(Dtype::F64))
            }

            // G |- s0 : S    G, s : S |- (b, s', y) : (Array [] Bool, S, Y)
            // -------------------------------------------------------------
            // G |- while (\s -> (b, s', y)) s0 : (S, bound ::: Y)
            Node::While(w) => {
                self.while_accum(t, w)?;
                Ok(Type::scalar(Dtype::F64))
            }

            // G |- ts : A    G, xs : A |- f : B    G, xs : A, cs : B' |- r : A', linear in cs
            // (B', A' the float parts; the other way round for tangents)
            // ---------------------------------------------------------------------------
            // G |- withVjp ts (\xs cs -> (f, r)) : B
            Node::Custom(c) => {
                self.custom(t, c)?;
                Ok(Type::scalar(Dtype::F64))
            }

            // G |- t : (T0, .., Tn)
            // ---------------------
            // G |- result t i : Ti
            Node::Result(u, n) => {
                if *u >= t {
                    return Err(format!("operand {} does not come before", u.index()));
                }
                let n = *n as usize;
                // The step, its results before the first of the loop, the states, the steps.
                let (step, skip, states, steps) = match self.arena.node(*u) {
                    Node::MapAccum(m) => (m.step, 0, m.init.len(), m.length),
                    Node::While(w) => (w.step, 1, w.init.len(), w.bound.unwrap_or(0)),
                    Node::Custom(c) if n < c.outputs => {
                        let y = self.arena.region(c.region).results[n];
                        return Ok(self.arena.ty(y).clone());
                    }
                    Node::Custom(_) => {
                        return Err(format!("operand {} has no result {n}", u.index()));
                    }
                    _ => return Err(format!("operand {} has one result", u.index())),
                };
                let Some(y) = self.arena.region(step).results.get(n + skip) else {
                    return Err(format!("operand {} has no result {n}", u.index()));
                };
                let y = self.arena.ty(*y);
                let outer: &[usize] = if n < states { &[] } else { &[steps] };
                array_type(y.dtype, outer, y.shape.dims())
            }
        }
    }

    /// The rule of `mapAccum`, whose states, inputs and outputs each have their own type.
    fn map_accum(&self, t: TermId, m: &MapAccum) -> Result<(), Broken> {
        let step = self.region_before(t, m.step)?;
        let states = m.init.len();
        if step.params.len() != states + m.inputs.len() || step.results.len() < states {
            return Err("the step has the wrong number of parameters or results".to_string());
        }
        for (n, s) in m.init.iter().enumerate() {
            let s = self.array_before(t, *s)?;
            if self.arena.ty(step.params[n]) != s || self.arena.ty(step.results[n]) != s {
                return Err(format!("state {n} does not keep its type {s}"));
            }
        }
        for (n, x) in m.inputs.iter().enumerate() {
            let x = self.array_before(t, *x)?;
            let element = array_type(x.dtype, &[], tail(x, 1)?)?;
            if x.shape.dims().first() != Some(&m.length) {
                return Err(format!("input {n} is {x}, not of length {}", m.length));
            }
            if *self.arena.ty(step.params[states + n]) != element {
                return Err(format!("input {n} is not stepped through by its elements {element}"));
            }
        }
        for y in &step.results[states..] {
            let y = self.arena.ty(*y);
            array_type(y.dtype, &[m.length], y.shape.dims())?;
        }
        Ok(())
    }

    /// The rule of `while`: the condition is a scalar, states keep their types, outputs need a bound.
    fn while_accum(&self, t: TermId, w: &While) -> Result<(), Broken> {
        let step = self.region_before(t, w.step)?;
        let states = w.init.len();
        let Some((&condition, results)) = step.results.split_first() else {
            return Err("the step has no condition".to_string());
        };
        if *self.arena.ty(condition) != Type::scalar(Dtype::Bool) {
            return Err(format!("the condition is {}", self.arena.ty(condition)));
        }
        if states == 0 || step.params.len() != states || results.len() < states {
            return Err("the step has the wrong number of parameters or results".to_string());
        }
        for (n, s) in w.init.iter().enumerate() {
            let s = self.array_before(t, *s)?;
            if self.arena.ty(step.params[n]) != s || self.arena.ty(results[n]) != s {
                return Err(format!("state {n} does not keep its type {s}"));
            }
        }
        for y in &results[states..] {
            let Some(bound) = w.bound else {
                return Err("a loop without a bound has outputs".to_string());
            };
            let y = self.arena.ty(*y);
            array_type(y.dtype, &[bound], y.shape.dims())?;
        }
        Ok(())
    }

    /// The rule of a function with a derivative of its own.
    fn custom(&self, t: TermId, c: &Custom) -> Result<(), Broken> {
        let region = self.region_before(t, c.region)?;
        let args: Vec<&Type> =
            c.args.iter().map(|&u| self.array_before(t, u)).collect::<Result<_, _>>()?;
        let types = |ts: &[TermId]| ts.iter().map(|&u| self.arena.ty(u)).collect::<Vec<&Type>>();
        let (params, results) = (types(&region.params), types(&region.results));
        let floats = |ts: &[&Type]| -> Vec<Type> {
            ts.iter().filter(|ty| ty.dtype.is_float()).map(|&ty| ty.clone()).collect()
        };
        let (Some(own), Some(outputs)) = (params.get(..args.len()), results.get(..c.outputs))
        else {
            return Err("too few parameters or results".to_string());
        };
        let (from, to) = match c.kind {
            CustomKind::Vjp => (floats(outputs), floats(&args)),
            CustomKind::Jvp => (floats(&args), floats(outputs)),
            CustomKind::Implicit => (floats(&outputs.repeat(2)), floats(&outputs.repeat(3))),
            CustomKind::Checkpoint(_) => (Vec::new(), Vec::new()),
        };
        if c.kind == CustomKind::Implicit && outputs.iter().any(|ty| !ty.dtype.is_float()) {
            return Err("the solution of an equation is not of floats".to_string());
        }
        if own != args.as_slice() {
            return Err("the arguments do not have the types of the parameters".to_string());
        }
        if !params[args.len()..].iter().copied().eq(&from) {
            return Err("the rule takes something else".to_string());
        }
        if !results[c.outputs..].iter().copied().eq(&to) {
            return Err("the rule gives something else".to_string());
        }
        let (outputs, taken) = (&region.results[..c.outputs], &region.params[args.len()..]);
        if depends_on(self.arena, outputs, taken, region.level) {
            return Err("the function depends on what only the rule is given".to_string());
        }
        Ok(())
    }

    // ---- what the rules ask of operands -------------------------------------------------------

    /// An operand that comes before `t` and is one array.
    fn array_before(&self, t: TermId, u: TermId) -> Result<&'a Type, Broken> {
        if u >= t {
            return Err(format!("operand {} does not come before", u.index()));
        }
        if self.arena.node(u).has_results() {
            return Err(format!("operand {} is not one array", u.index()));
        }
        Ok(self.arena.ty(u))
    }

    /// `G |- ix index n`: the components are scalars of type `i64`.
    fn indices_before(&self, t: TermId, ix: &[TermId]) -> Result<(), Broken> {
        for &i in ix {
            let ty = self.array_before(t, i)?;
            if *ty != Type::scalar(Dtype::I64) {
                return Err(format!("index component {} is {ty}", i.index()));
            }
        }
        Ok(())
    }

    /// A region whose parameters and results come before `t`.
    fn region_before(&self, t: TermId, r: RegionId) -> Result<&'a Region, Broken> {
        let Some(region) = self.arena.regions.get(r.index()) else {
            return Err(format!("region {} does not exist", r.index()));
        };
        for &u in region.params.iter().chain(&region.results) {
            self.array_before(t, u)?;
        }
        Ok(region)
    }

    /// The sizes of a region's parameters, all of which must be indices.
    fn index_sizes(&self, region: &Region) -> Result<Vec<usize>, Broken> {
        let mut sizes = Vec::with_capacity(region.params.len());
        for &x in &region.params {
            match self.arena.node(x) {
                Node::Var { param, .. } if let Param::Index(k) = &**param => sizes.push(*k),
                _ => return Err(format!("parameter {} is not an index", x.index())),
            }
        }
        Ok(sizes)
    }

    /// A region from indices to an index: the sizes of the former, the length of the latter.
    fn index_function_before(&self, t: TermId, r: RegionId) -> Result<(Vec<usize>, usize), Broken> {
        let region = self.region_before(t, r)?;
        self.indices_before(t, &region.results)?;
        Ok((self.index_sizes(region)?, region.results.len()))
    }
}

/// `rho` is numeric.
fn numeric(ty: &Type) -> Result<(), Broken> {
    match ty.dtype {
        Dtype::F64 | Dtype::F32 | Dtype::I64 => Ok(()),
        Dtype::Bool => Err(format!("{ty} is not numeric")),
    }
}

/// `[k(n+1), ..]`: the sizes after the first `n`, of which there must be as many.
fn tail(ty: &Type, n: usize) -> Result<&[usize], Broken> {
    ty.shape.dims().get(n..).ok_or_else(|| format!("{ty} has fewer than {n} axes"))
}

/// `Array (outer ++ inner) rho`.
fn array_type(dtype: Dtype, outer: &[usize], inner: &[usize]) -> Result<Type, Broken> {
    let dims = [outer, inner].concat();
    Shape::new("check", &dims).map(|shape| Type::new(dtype, shape)).map_err(|e| e.to_string())
}

/// The type of a routine's result: the axes of cells with equal letters are equal, and so are those
/// before the cells.
fn routine_type(routine: Routine, operands: &[&Type]) -> Result<Type, Broken> {
    let row = routine.row();
    if operands.len() != row.operands.len() {
        return Err(format!("{} operands for {}", operands.len(), row.signature));
    }
    let lengths = operands.iter().zip(row.operands).map(|(ty, cell)| {
        ty.shape.rank().checked_sub(cell.axes.len()).ok_or_else(|| format!("{ty} has no cells"))
    });
    let lengths: Vec<usize> = lengths.collect::<Result<_, _>>()?;
    // All axes by name, those of the batch by their numbers.
    let axes = operands.iter().zip(row.operands).zip(&lengths).flat_map(|((ty, cell), &batch)| {
        let names = (0..batch).map(Err).chain(cell.axes.chars().map(Ok));
        names.zip(ty.shape.dims().iter().copied()).collect::<Vec<_>>()
    });
    let axes: Vec<(Result<char, usize>, usize)> = axes.collect();
    let clash = axes.iter().any(|(a, n)| axes.iter().any(|(b, m)| a == b && n != m));
    if clash || lengths.iter().any(|n| *n != lengths[0]) {
        return Err("the sizes do not fit".to_string());
    }
    let mut floats = operands.iter().zip(row.operands).filter(|(_, cell)| !cell.integers);
    let Some(dtype) = floats.clone().next().map(|(ty, _)| ty.dtype) else {
        return Err("there is no float operand".to_string());
    };
    let integers = operands.iter().zip(row.operands).filter(|(_, cell)| cell.integers);
    if !dtype.is_float()
        || floats.any(|(ty, _)| ty.dtype != dtype)
        || integers.into_iter().any(|(ty, _)| ty.dtype != Dtype::I64)
    {
        return Err("the element types do not fit".to_string());
    }
    let size = |name: char| axes.iter().find(|(a, _)| *a == Ok(name)).map_or(0, |(_, n)| *n);
    let cell: Vec<usize> = row.result.axes.chars().map(size).collect();
    let dtype = if row.result.integers { Dtype::I64 } else { dtype };
    array_type(dtype, &operands[0].shape.dims()[..lengths[0]], &cell)
}
