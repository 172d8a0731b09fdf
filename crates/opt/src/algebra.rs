//! Identities of elementwise operations, choices that are known, and constants.

use cotan_array::{Array, Dtype, Element};
use cotan_ir::scalar::{Op, Scalar, eval};
use cotan_ir::{Literal, Node, Result, TermId};

use crate::pass::{Fired, Opt, rule};
use crate::view::{
    AxisMap, View, all_the_same, is_all, scalar_array, shape_of, uniform, uniform_integer, view,
};

/// Constants of up to so many elements are computed with when the program is made.
const MAX_FOLDED: usize = 1024;

impl Opt<'_> {
    /// The argument of an operation of one argument.
    fn argument_of(&self, op: Op, t: TermId) -> Option<TermId> {
        match self.b.node(t) {
            Node::Op(o, args) if *o == op => args.first().copied(),
            _ => None,
        }
    }

    /// The argument of a negation, also under a view of it.
    pub(crate) fn negated(&mut self, t: TermId) -> Result<Option<TermId>> {
        let v = view(&self.b, t);
        match self.argument_of(Op::Neg, v.base) {
            Some(u) => {
                let dims = self.dims(t);
                self.view_of(u, &v.map, &dims).map(Some)
            }
            None => Ok(None),
        }
    }

    pub(crate) fn const_rules(&mut self, c: &Literal) -> Result<Fired> {
        if !self.options.views {
            return Ok(None);
        }
        let Some(one) = all_the_same(c) else { return Ok(None) };
        let one = self.b.constant(&one)?;
        let filled = self.fill(one, c.shape().dims())?;
        Ok(Some((rule!("const/uniform"), filled)))
    }

    pub(crate) fn cond_rules(&mut self, p: TermId, u: TermId, v: TermId) -> Result<Fired> {
        if !self.options.algebra {
            return Ok(None);
        }
        if u == v {
            return Ok(Some((rule!("cond/equal"), u)));
        }
        let known = match uniform(&self.b, p) {
            Some(Scalar::Bool(p)) => Some(p),
            _ => None,
        };
        Ok(known.map(|p| (rule!("cond/known"), if p { u } else { v })))
    }

    pub(crate) fn op_rules(&mut self, raw: TermId, op: Op, args: &[TermId]) -> Result<Fired> {
        if self.options.views
            && let Some(fired) = self.lift_views(op, args)?
        {
            return Ok(Some(fired));
        }
        if self.options.algebra
            && let Some(fired) = self.algebra(raw, op, args)?
        {
            return Ok(Some(fired));
        }
        self.factor_rules(op, args)
    }

    fn algebra(&mut self, raw: TermId, op: Op, args: &[TermId]) -> Result<Fired> {
        if let Some(folded) = self.fold(op, args)? {
            return Ok(Some((rule!("op/fold"), folded)));
        }
        let ty = self.b.ty(raw).clone();
        if !ty.dtype.is_float()
            && let Some(x) = self.b.bounds(raw).singleton()
        {
            return Ok(Some((rule!("op/known"), self.fill_number(&ty, x)?)));
        }
        self.identities(raw, op, args)
    }

    /// What all arguments copy along an axis is computed once, and the copies are made of the
    /// result. What all arguments transpose alike is transposed afterwards.
    fn lift_views(&mut self, op: Op, args: &[TermId]) -> Result<Option<(usize, TermId)>> {
        let is_view =
            |t: &TermId| matches!(self.b.node(*t), Node::Replicate(..) | Node::Transpose(..));
        if !args.iter().any(is_view) {
            return Ok(None);
        }
        let views: Vec<View> = args.iter().map(|&t| view(&self.b, t)).collect();
        let dims = self.dims(args[0]);
        let rank = dims.len();
        let copied = |n: usize| views.iter().all(|v| v.map[n].is_none());
        let kept: Vec<usize> = (0..rank).filter(|&n| !copied(n)).collect();
        if kept.len() < rank {
            let small: Vec<usize> = kept.iter().map(|&n| dims[n]).collect();
            let mut parts = Vec::with_capacity(views.len());
            for v in &views {
                let map: AxisMap = kept.iter().map(|&n| v.map[n]).collect();
                parts.push(self.view_of(v.base, &map, &small)?);
            }
            let once = self.op(op, &parts)?;
            let map: AxisMap = (0..rank).map(|n| kept.iter().position(|&k| k == n)).collect();
            return Ok(Some((rule!("op/replicate"), self.view_of(once, &map, &dims)?)));
        }
        let Some(first) = views.iter().find(|v| v.is_full()) else { return Ok(None) };
        if first.is_plain() || views.iter().any(|v| v.is_full() && v.map != first.map) {
            return Ok(None);
        }
        let turn = first.map.clone();
        let mut turned = vec![0; rank];
        for (n, axis) in turn.iter().enumerate() {
            if let Some(axis) = axis {
                turned[*axis] = dims[n];
            }
        }
        let mut parts = Vec::with_capacity(views.len());
        for v in &views {
            let mut map: AxisMap = AxisMap::from_elem(None, rank);
            for (n, axis) in turn.iter().enumerate() {
                if let Some(axis) = axis {
                    map[*axis] = v.map[n];
                }
            }
            parts.push(self.view_of(v.base, &map, &turned)?);
        }
        let before = self.op(op, &parts)?;
        Ok(Some((rule!("op/transpose"), self.view_of(before, &turn, &dims)?)))
    }

    /// An operation on constants, computed.
    fn fold(&mut self, op: Op, args: &[TermId]) -> Result<Option<TermId>> {
        let floats = args.iter().any(|&t| self.b.dtype(t).is_float());
        let Some(dtype) =
            op.result_dtype(&args.iter().map(|&t| self.b.dtype(t)).collect::<Vec<_>>())
        else {
            return Ok(None);
        };
        if (floats || dtype.is_float()) && !self.options.fold_floats {
            return Ok(None);
        }
        let dims = self.dims(args[0]);
        let count: usize = dims.iter().product();
        if count > MAX_FOLDED || count == 0 {
            return Ok(None);
        }
        let mut columns = Vec::with_capacity(args.len());
        for &t in args {
            match (self.b.node(t), uniform(&self.b, t)) {
                (_, Some(x)) => columns.push(vec![x; count]),
                (Node::Const(c), None) => columns.push(scalars(c)),
                _ => return Ok(None),
            }
        }
        let mut made = Vec::with_capacity(count);
        for n in 0..count {
            let row: Option<Vec<Scalar>> = columns.iter().map(|c| c.get(n).copied()).collect();
            match row.and_then(|row| eval(op, &row)) {
                Some(x) => made.push(x),
                None => return Ok(None),
            }
        }
        if dims.is_empty() {
            let array = made.first().and_then(|&x| scalar_array(x));
            return array.map(|array| self.b.constant(&array)).transpose();
        }
        let array = collect(dtype, &dims, &made)?;
        let raw = self.b.constant(&array)?;
        self.simplify(raw).map(Some)
    }

    /// The identities of single operations.
    fn identities(&mut self, raw: TermId, op: Op, args: &[TermId]) -> Result<Fired> {
        match (op, args) {
            (Op::StopGradient, &[x]) => Ok(Some((rule!("stop-gradient"), x))),
            (Op::Add, &[x, y]) => self.add_rules(x, y),
            (Op::Sub, &[x, y]) => self.sub_rules(raw, x, y),
            (Op::Mul, &[x, y]) => self.mul_rules(raw, x, y),
            (Op::Scale, &[x, y]) => self.scale_rules(raw, x, y),
            (Op::StrongMul, &[x, y]) => self.strong_rules(x, y),
            (Op::Div, &[x, y]) if is_all(&self.b, y, 1) => Ok(Some((rule!("div/one"), x))),
            (Op::Neg, &[x]) => self.neg_rules(x),
            (Op::Select, &[p, x, y]) => self.where_rules(p, x, y),
            (Op::And | Op::Or | Op::Xor | Op::Not, _) => self.logic_rules(op, args),
            (Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge, &[x, y])
                if x == y && !self.b.dtype(x).is_float() =>
            {
                let holds = matches!(op, Op::Eq | Op::Le | Op::Ge);
                let ty = self.b.ty(raw).clone();
                Ok(Some((rule!("compare/equal"), self.fill_number(&ty, i64::from(holds))?)))
            }
            (Op::Max | Op::Min, &[x, y]) => Ok(self.extreme(op, x, y)),
            (Op::Rem, &[x, y]) => {
                let (a, b) = (self.b.bounds(x), self.b.bounds(y));
                let small = self.b.dtype(x) == Dtype::I64 && !a.is_empty() && a.lo >= 0;
                if small && a.hi < b.lo {
                    return Ok(Some((rule!("rem/small"), x)));
                }
                let Some((quotient, more)) = self.two_quotients(x, y)? else { return Ok(None) };
                let ty = self.b.ty(raw).clone();
                let size = uniform_integer(&self.b, y).unwrap_or(1);
                let [less, rest] = [quotient, quotient + 1].map(|q| q.wrapping_mul(size));
                let (less, rest) = (self.fill_number(&ty, less)?, self.fill_number(&ty, rest)?);
                let (less, rest) = (self.op(Op::Sub, &[x, less])?, self.op(Op::Sub, &[x, rest])?);
                Ok(Some((rule!("rem/two"), self.op(Op::Select, &[more, rest, less])?)))
            }
            (Op::FloorDiv, &[x, y]) if is_all(&self.b, y, 1) => {
                Ok((self.b.dtype(x) == Dtype::I64).then_some((rule!("div/one"), x)))
            }
            (Op::FloorDiv, &[x, y]) => {
                let Some((quotient, more)) = self.two_quotients(x, y)? else { return Ok(None) };
                let ty = self.b.ty(raw).clone();
                let values =
                    [self.fill_number(&ty, quotient + 1)?, self.fill_number(&ty, quotient)?];
                Ok(Some((rule!("div/two"), self.op(Op::Select, &[more, values[0], values[1]])?)))
            }
            (Op::Powi, &[x, n]) => self.power_rules(raw, x, n),
            (Op::ToF64 | Op::ToF32 | Op::ToI64 | Op::ToBool, &[x])
                if self.b.dtype(x) == self.b.dtype(raw) =>
            {
                Ok(Some((rule!("cast/same"), x)))
            }
            _ => Ok(None),
        }
    }

    fn add_rules(&mut self, x: TermId, y: TermId) -> Result<Fired> {
        if is_all(&self.b, y, 0) {
            return Ok(Some((rule!("add/zero"), x)));
        }
        if is_all(&self.b, x, 0) {
            return Ok(Some((rule!("add/zero"), y)));
        }
        if x == y {
            let ty = self.b.ty(x).clone();
            let two = self.fill_number(&ty, 2)?;
            return Ok(Some((rule!("add/self"), self.op(Op::Mul, &[x, two])?)));
        }
        if let Some(z) = self.negated(y)? {
            return Ok(Some((rule!("add/neg"), self.op(Op::Sub, &[x, z])?)));
        }
        if let Some(z) = self.negated(x)? {
            return Ok(Some((rule!("add/neg"), self.op(Op::Sub, &[y, z])?)));
        }
        match self.both_masked(Op::Add, x, y)? {
            None => self.merge_scatters(x, y),
            fired => Ok(fired),
        }
    }

    fn sub_rules(&mut self, raw: TermId, x: TermId, y: TermId) -> Result<Fired> {
        if is_all(&self.b, y, 0) {
            return Ok(Some((rule!("sub/zero"), x)));
        }
        if is_all(&self.b, x, 0) {
            return Ok(Some((rule!("sub/from-zero"), self.op(Op::Neg, &[y])?)));
        }
        if x == y && self.b.dtype(x) == Dtype::I64 {
            let ty = self.b.ty(raw).clone();
            return Ok(Some((rule!("sub/self"), self.zeros(&ty)?)));
        }
        match self.negated(y)? {
            Some(z) => Ok(Some((rule!("sub/neg"), self.op(Op::Add, &[x, z])?))),
            None => self.both_masked(Op::Sub, x, y),
        }
    }

    /// One choice for two summands by one condition. Products of arrays keep their own, as their sums
    /// may be taken one by one.
    fn both_masked(&mut self, op: Op, x: TermId, y: TermId) -> Result<Fired> {
        let choice = |t: TermId| match self.b.node(t) {
            Node::Op(Op::Select, args) => Some((args[0], args[1], args[2])),
            _ => None,
        };
        let (Some((p, a, b)), Some((q, c, d))) = (choice(x), choice(y)) else { return Ok(None) };
        if p != q {
            return Ok(None);
        }
        let zeros = [a, b, c, d].map(|t| is_all(&self.b, t, 0));
        // Either of them, whatever holds.
        let halves = match zeros {
            [false, true, true, false] => Some([a, d]),
            [true, false, false, true] => Some([c, b]),
            _ => None,
        };
        if let Some([yes, no]) = halves.filter(|_| op == Op::Add) {
            return Ok(Some((rule!("where/halves"), self.op(Op::Select, &[p, yes, no])?)));
        }
        let product = |t: TermId| match self.b.node(view(&self.b, t).base) {
            Node::Op(Op::Mul | Op::Scale | Op::StrongMul, args) => {
                args.iter().all(|&t| uniform(&self.b, t).is_none())
            }
            _ => false,
        };
        let saves = self.used_once(x) || self.used_once(y);
        if !zeros[1] || !zeros[3] || !saves || product(a) || product(c) {
            return Ok(None);
        }
        let ty = self.b.ty(x).clone();
        let (both, zero) = (self.op(op, &[a, c])?, self.zeros(&ty)?);
        Ok(Some((rule!("where/both"), self.op(Op::Select, &[p, both, zero])?)))
    }

    fn mul_rules(&mut self, raw: TermId, x: TermId, y: TermId) -> Result<Fired> {
        for (x, y) in [(x, y), (y, x)] {
            if is_all(&self.b, y, 1) {
                return Ok(Some((rule!("mul/one"), x)));
            }
            if is_all(&self.b, y, -1) {
                return Ok(Some((rule!("mul/minus-one"), self.op(Op::Neg, &[x])?)));
            }
            if is_all(&self.b, y, 0) && self.is_finite(x) {
                let ty = self.b.ty(raw).clone();
                return Ok(Some((rule!("mul/zero"), self.zeros(&ty)?)));
            }
            if uniform(&self.b, y).is_some()
                && let Some([p, c, d]) = self.constants_by_condition(x)?
            {
                let (c, d) = (self.op(Op::Mul, &[c, y])?, self.op(Op::Mul, &[d, y])?);
                return Ok(Some((rule!("mul/mask"), self.op(Op::Select, &[p, c, d])?)));
            }
        }
        self.signs(Op::Mul, x, y, rule!("mul/neg"))
    }

    /// Takes a sign out of a product.
    fn signs(&mut self, op: Op, x: TermId, y: TermId, rule: usize) -> Result<Fired> {
        if let Some(z) = self.negated(x)? {
            let product = self.op(op, &[z, y])?;
            return Ok(Some((rule, self.op(Op::Neg, &[product])?)));
        }
        if let Some(z) = self.negated(y)? {
            let product = self.op(op, &[x, z])?;
            return Ok(Some((rule, self.op(Op::Neg, &[product])?)));
        }
        Ok(None)
    }

    fn scale_rules(&mut self, raw: TermId, x: TermId, y: TermId) -> Result<Fired> {
        if is_all(&self.b, x, 0) {
            let ty = self.b.ty(raw).clone();
            return Ok(Some((rule!("scale/zero"), self.zeros(&ty)?)));
        }
        // A factor that is not 0 annihilates nothing.
        if uniform(&self.b, x).is_some() {
            return Ok(Some((rule!("scale/constant"), self.op(Op::Mul, &[x, y])?)));
        }
        // Nothing needs to be annihilated.
        if self.is_finite(y) {
            return Ok(Some((rule!("scale/finite"), self.op(Op::Mul, &[x, y])?)));
        }
        // A masked constant as a first factor masks the product.
        if let Some([p, c, d]) = self.constants_by_condition(x)?
            && (is_all(&self.b, c, 0) || is_all(&self.b, d, 0))
        {
            let (c, d) = (self.op(Op::Scale, &[c, y])?, self.op(Op::Scale, &[d, y])?);
            return Ok(Some((rule!("scale/mask"), self.op(Op::Select, &[p, c, d])?)));
        }
        self.signs(Op::Scale, x, y, rule!("scale/neg"))
    }

    fn strong_rules(&mut self, x: TermId, y: TermId) -> Result<Fired> {
        // Zeros of a finite factor need to annihilate the other one only.
        for (finite, other) in [(x, y), (y, x)] {
            if self.is_finite(finite) {
                return Ok(Some((rule!("strong/finite"), self.op(Op::Scale, &[finite, other])?)));
            }
        }
        self.signs(Op::StrongMul, x, y, rule!("strong/neg"))
    }

    /// $p$, $c$ and $d$ of a view of `where(p, c, d)`, if $c$ and $d$ are constants: the same view of
    /// each.
    fn constants_by_condition(&mut self, x: TermId) -> Result<Option<[TermId; 3]>> {
        let v = view(&self.b, x);
        let Node::Op(Op::Select, args) = self.b.node(v.base) else { return Ok(None) };
        let &[p, c, d] = args.as_slice() else { return Ok(None) };
        if uniform(&self.b, c).is_none() || uniform(&self.b, d).is_none() {
            return Ok(None);
        }
        let dims = self.dims(x);
        let mut same = |t| self.view_of(t, &v.map, &dims);
        Ok(Some([same(p)?, same(c)?, same(d)?]))
    }

    fn neg_rules(&mut self, x: TermId) -> Result<Fired> {
        if let Some(y) = self.argument_of(Op::Neg, x) {
            return Ok(Some((rule!("neg/neg"), y)));
        }
        if let Node::Op(Op::Sub, args) = self.b.node(x)
            && let &[y, z] = args.as_slice()
            && self.used_once(x)
        {
            return Ok(Some((rule!("neg/sub"), self.op(Op::Sub, &[z, y])?)));
        }
        Ok(None)
    }

    fn where_rules(&mut self, p: TermId, x: TermId, y: TermId) -> Result<Fired> {
        if x == y {
            return Ok(Some((rule!("where/equal"), x)));
        }
        if let Some(Scalar::Bool(p)) = uniform(&self.b, p) {
            return Ok(Some((rule!("where/known"), if p { x } else { y })));
        }
        if let Some(q) = self.argument_of(Op::Not, p)
            && self.b.dtype(q) == Dtype::Bool
        {
            return Ok(Some((rule!("where/not"), self.op(Op::Select, &[q, y, x])?)));
        }
        if let Node::Op(Op::Select, args) = self.b.node(x)
            && let &[q, z, _] = args.as_slice()
            && q == p
        {
            return Ok(Some((rule!("where/nested"), self.op(Op::Select, &[p, z, y])?)));
        }
        if let Node::Op(Op::Select, args) = self.b.node(y)
            && let &[q, _, z] = args.as_slice()
            && q == p
        {
            return Ok(Some((rule!("where/nested"), self.op(Op::Select, &[p, x, z])?)));
        }
        Ok(None)
    }

    fn logic_rules(&mut self, op: Op, args: &[TermId]) -> Result<Fired> {
        if args.iter().any(|&t| self.b.dtype(t) != Dtype::Bool) {
            return Ok(None);
        }
        if let (Op::Not, &[x]) = (op, args) {
            return Ok(self.argument_of(Op::Not, x).map(|y| (rule!("logic/not"), y)));
        }
        let &[x, y] = args else { return Ok(None) };
        for (x, y) in [(x, y), (y, x)] {
            let Some(Scalar::Bool(known)) = uniform(&self.b, y) else { continue };
            let result = match (op, known) {
                (Op::And, true) | (Op::Or, false) | (Op::Xor, false) => x,
                (Op::And, false) | (Op::Or, true) => y,
                (Op::Xor, true) => self.op(Op::Not, &[x])?,
                _ => continue,
            };
            return Ok(Some((rule!("logic/known"), result)));
        }
        let same = x == y && matches!(op, Op::And | Op::Or);
        Ok(same.then_some((rule!("logic/equal"), x)))
    }

    fn extreme(&mut self, op: Op, x: TermId, y: TermId) -> Fired {
        if x == y {
            return Some((rule!("extreme/equal"), x));
        }
        if self.b.dtype(x) != Dtype::I64 {
            return None;
        }
        let (a, b) = (self.b.bounds(x), self.b.bounds(y));
        if a.is_empty() || b.is_empty() {
            return None;
        }
        let (larger, smaller) = match () {
            () if a.lo >= b.hi => (x, y),
            () if b.lo >= a.hi => (y, x),
            () => return None,
        };
        Some((rule!("extreme/known"), if op == Op::Max { larger } else { smaller }))
    }

    fn power_rules(&mut self, raw: TermId, x: TermId, n: TermId) -> Result<Fired> {
        let Some(Scalar::I64(n)) = uniform(&self.b, n) else { return Ok(None) };
        let result = match n {
            0 => {
                let ty = self.b.ty(raw).clone();
                self.fill_number(&ty, 1)?
            }
            1 => x,
            2 => self.op(Op::Mul, &[x, x])?,
            3 => {
                let square = self.op(Op::Mul, &[x, x])?;
                self.op(Op::Mul, &[x, square])?
            }
            _ => return Ok(None),
        };
        Ok(Some((rule!("powi/small"), result)))
    }

    /// Of integers that intervals show to have at most two quotients by a positive constant, the
    /// smaller one, and where the quotient is the larger.
    fn two_quotients(&mut self, x: TermId, y: TermId) -> Result<Option<(i64, TermId)>> {
        let (bounds, size) = (self.b.bounds(x), uniform_integer(&self.b, y));
        let Some(size) = size.filter(|&k| k > 0 && !bounds.is_empty()) else { return Ok(None) };
        let quotient = bounds.lo.div_euclid(size);
        if bounds.hi.div_euclid(size) > quotient.saturating_add(1) {
            return Ok(None);
        }
        let Some(limit) = (quotient + 1).checked_mul(size) else { return Ok(None) };
        let ty = self.b.ty(x).clone();
        let limit = self.fill_number(&ty, limit)?;
        Ok(Some((quotient, self.op(Op::Ge, &[x, limit])?)))
    }

    /// Whether all elements are known to be finite.
    pub(crate) fn is_finite(&mut self, t: TermId) -> bool {
        self.magnitudes.is_finite(&self.b, t)
    }
}

/// The elements of a constant.
fn scalars(c: &Array) -> Vec<Scalar> {
    fn all<T: Element>(c: &Array, f: fn(T) -> Scalar) -> Vec<Scalar> {
        c.as_slice::<T>().unwrap_or(&[]).iter().map(|&x| f(x)).collect()
    }
    match c.dtype() {
        Dtype::F64 => all(c, Scalar::F64),
        Dtype::F32 => all(c, Scalar::F32),
        Dtype::I64 => all(c, Scalar::I64),
        Dtype::Bool => all(c, Scalar::Bool),
    }
}

/// An array of scalars of one type.
fn collect(dtype: Dtype, dims: &[usize], xs: &[Scalar]) -> Result<Array> {
    fn all<T: Element>(dims: &[usize], xs: &[Scalar], f: fn(Scalar) -> Option<T>) -> Result<Array> {
        Ok(Array::from_vec(shape_of(dims)?, xs.iter().filter_map(|&x| f(x)).collect())?)
    }
    match dtype {
        Dtype::F64 => all(dims, xs, |x| if let Scalar::F64(x) = x { Some(x) } else { None }),
        Dtype::F32 => all(dims, xs, |x| if let Scalar::F32(x) = x { Some(x) } else { None }),
        Dtype::I64 => all(dims, xs, Scalar::as_i64),
        Dtype::Bool => all(dims, xs, Scalar::as_bool),
    }
}
