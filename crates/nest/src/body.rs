//! Making the body of a nest: values are shared, integers stay affine, reads are checked only where
//! they must be.

use cotan_array::Dtype;
use cotan_ir::scalar::{self, Op, Scalar};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::nest::{Affine, BufferId, Component, Instr, Val};

/// Affine components of an index that stay below this in size are checked for a tile at once:
/// nothing that is computed from them overflows. Others may wrap, and are checked one by one.
const MODERATE: i64 = 1 << 60;

/// What is made of more instructions is not evaluated to find out where it is 0.
const MOST_EVALUATED: usize = 32;

/// Whether a number is 0, the negative zero being another one.
fn is_zero(x: Scalar) -> bool {
    match x {
        Scalar::F64(x) => x.to_bits() == 0,
        Scalar::F32(x) => x.to_bits() == 0,
        Scalar::I64(x) => x == 0,
        Scalar::Bool(x) => !x,
        Scalar::Fp(_) => false,
    }
}

/// A body in the making.
#[derive(Debug)]
pub struct Body {
    /// The extents of the nest.
    pub extents: Vec<usize>,
    /// The instructions so far.
    pub instrs: Vec<Instr>,
    /// The types of their values.
    pub dtypes: Vec<Dtype>,
    table: FxHashMap<(Instr, Dtype), Val>,
}

impl Body {
    /// No instructions, for a nest of some extents.
    pub fn new(extents: Vec<usize>) -> Body {
        Body { extents, instrs: Vec::new(), dtypes: Vec::new(), table: FxHashMap::default() }
    }

    /// The type of a value.
    pub fn dtype(&self, v: Val) -> Dtype {
        self.dtypes[v.index()]
    }

    /// An instruction, unless there is an equal one.
    pub fn push(&mut self, instr: Instr, dtype: Dtype) -> Val {
        let key = (instr, dtype);
        if let Some(&v) = self.table.get(&key) {
            return v;
        }
        let v = Val(self.instrs.len() as u32);
        self.instrs.push(key.0.clone());
        self.dtypes.push(dtype);
        self.table.insert(key, v);
        v
    }

    /// A number.
    pub fn constant(&mut self, x: Scalar) -> Val {
        match x {
            Scalar::F64(x) => self.push(Instr::Const(x.to_bits()), Dtype::F64),
            Scalar::F32(x) => self.push(Instr::Const(u64::from(x.to_bits())), Dtype::F32),
            Scalar::I64(x) => self.affine(Affine::constant(x, self.extents.len())),
            Scalar::Bool(x) => self.push(Instr::Const(u64::from(x)), Dtype::Bool),
            // Elements of the field are for the interpreter only.
            Scalar::Fp(_) => self.push(Instr::Const(0), Dtype::F64),
        }
    }

    /// An integer that is affine in the indices.
    pub fn affine(&mut self, affine: Affine) -> Val {
        self.push(Instr::Affine(affine), Dtype::I64)
    }

    /// The index of a dimension.
    pub fn index(&mut self, dim: usize) -> Val {
        self.affine(Affine::index(dim, self.extents.len()))
    }

    /// A value as an affine form, if it is one.
    pub fn as_affine(&self, v: Val) -> Option<&Affine> {
        match &self.instrs[v.index()] {
            Instr::Affine(affine) => Some(affine),
            _ => None,
        }
    }

    /// The value of a constant.
    fn known(&self, v: Val) -> Option<Scalar> {
        match (&self.instrs[v.index()], self.dtype(v)) {
            (Instr::Const(bits), Dtype::F64) => Some(Scalar::F64(f64::from_bits(*bits))),
            (Instr::Const(bits), Dtype::F32) => Some(Scalar::F32(f32::from_bits(*bits as u32))),
            (Instr::Const(bits), Dtype::Bool) => Some(Scalar::Bool(*bits != 0)),
            (Instr::Affine(affine), _) => affine.known().map(Scalar::I64),
            _ => None,
        }
    }

    /// A scalar operation: folded when all is known, affine where that is possible.
    pub fn op(&mut self, op: Op, args: &[Val]) -> Option<Val> {
        let known: Option<SmallVec<[Scalar; 3]>> = args.iter().map(|&v| self.known(v)).collect();
        if let Some(known) = known {
            return Some(self.constant(scalar::eval(op, &known)?));
        }
        if let Some(affine) = self.affine_op(op, args) {
            return Some(self.affine(affine));
        }
        if let Some(v) = self.decided(op, args) {
            return Some(v);
        }
        if op == Op::StopGradient {
            return args.first().copied();
        }
        if let (Op::Powi, [a, n]) = (op, args)
            && let Some(product) = self.small_power(*a, *n)
        {
            return Some(product);
        }
        let dtypes: SmallVec<[Dtype; 3]> = args.iter().map(|&v| self.dtype(v)).collect();
        if let (Op::ToF64 | Op::ToF32 | Op::ToI64 | Op::ToBool, [v]) = (op, args)
            && op.result_dtype(&dtypes) == Some(self.dtype(*v))
        {
            return Some(*v);
        }
        let dtype = op.result_dtype(&dtypes)?;
        Some(self.push(Instr::Op(op, args.into()), dtype))
    }

    /// What ranges of indices and known truth values decide: comparisons, choices, conjunctions.
    fn decided(&mut self, op: Op, args: &[Val]) -> Option<Val> {
        let truth = |v: Val| match self.known(v) {
            Some(Scalar::Bool(x)) => Some(x),
            _ => None,
        };
        match (op, args) {
            (Op::Select, &[condition, a, b]) => {
                let holds = truth(condition);
                holds.map(|holds| if holds { a } else { b }).or((a == b).then_some(a))
            }
            (Op::And | Op::Or, &[a, b]) if self.dtype(a) == Dtype::Bool => {
                // The one that leaves the other as it is, and the one that decides.
                let neutral = op == Op::And;
                match (truth(a), truth(b)) {
                    (Some(x), _) => Some(if x == neutral { b } else { a }),
                    (_, Some(x)) => Some(if x == neutral { a } else { b }),
                    _ => None,
                }
            }
            (Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Eq | Op::Ne, &[a, b])
                if a == b && self.dtype(a) == Dtype::I64 =>
            {
                let holds = matches!(op, Op::Le | Op::Ge | Op::Eq);
                Some(self.constant(Scalar::Bool(holds)))
            }
            (Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Eq | Op::Ne, &[a, b]) => {
                // Affine forms that may wrap are left alone.
                let (x, y) = (self.moderate(a)?, self.moderate(b)?);
                let (lo, hi) = x.plus(-1, y)?.range(&self.extents)?;
                let always = |yes: bool, no: bool| (yes || no).then_some(yes);
                let holds = match op {
                    Op::Lt => always(hi < 0, lo >= 0),
                    Op::Le => always(hi <= 0, lo > 0),
                    Op::Gt => always(lo > 0, hi <= 0),
                    Op::Ge => always(lo >= 0, hi < 0),
                    Op::Eq => always(lo == 0 && hi == 0, lo > 0 || hi < 0),
                    _ => always(lo > 0 || hi < 0, lo == 0 && hi == 0),
                };
                holds.map(|holds| self.constant(Scalar::Bool(holds)))
            }
            _ => None,
        }
    }

    /// A small power as products, in the order in which the table multiplies.
    fn small_power(&mut self, a: Val, n: Val) -> Option<Val> {
        let n = self.as_affine(n)?.known()?;
        match n {
            1 => Some(a),
            2 => self.op(Op::Mul, &[a, a]),
            // Powers of f32 are rounded once, from f64.
            _ if self.dtype(a) != Dtype::F64 => None,
            3 => {
                let square = self.op(Op::Mul, &[a, a])?;
                self.op(Op::Mul, &[a, square])
            }
            4 => {
                let square = self.op(Op::Mul, &[a, a])?;
                self.op(Op::Mul, &[square, square])
            }
            _ => None,
        }
    }

    fn affine_op(&self, op: Op, args: &[Val]) -> Option<Affine> {
        let at = |n: usize| args.get(n).and_then(|&v| self.as_affine(v));
        match op {
            Op::Add => at(0)?.plus(1, at(1)?),
            Op::Sub => at(0)?.plus(-1, at(1)?),
            Op::Neg => Affine::constant(0, self.extents.len()).plus(-1, at(0)?),
            Op::FloorDiv | Op::Rem => {
                // a = k q + r with 0 <= r < k everywhere.
                let (a, k) = (self.moderate(*args.first()?)?, at(1)?.known()?);
                if k <= 0 {
                    return None;
                }
                let mut quotient = Affine::constant(a.constant.div_euclid(k), a.coeffs.len());
                let mut rest = Affine::constant(a.constant.rem_euclid(k), a.coeffs.len());
                for (dim, &c) in a.coeffs.iter().enumerate() {
                    if c % k == 0 {
                        quotient.coeffs[dim] = c / k;
                    } else {
                        rest.coeffs[dim] = c;
                    }
                }
                let (lo, hi) = rest.range(&self.extents)?;
                let exact = lo >= 0 && hi < k;
                exact.then_some(if op == Op::FloorDiv { quotient } else { rest })
            }
            Op::Mul => {
                let (a, b) = (at(0)?, at(1)?);
                let zero = Affine::constant(0, self.extents.len());
                match (a.known(), b.known()) {
                    (Some(k), _) => zero.plus(k, b),
                    (_, Some(k)) => zero.plus(k, a),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The zero of a type.
    pub fn zero(&mut self, dtype: Dtype) -> Val {
        self.constant(Scalar::zero(dtype, false))
    }

    /// Whether a component of an index stays in range; `None` when that depends.
    fn in_range(&self, v: Val, size: usize) -> Option<bool> {
        let (lo, hi) = self.as_affine(v)?.range(&self.extents)?;
        let size = i64::try_from(size).ok()?;
        if lo >= 0 && hi < size {
            Some(true)
        } else if hi < 0 || lo >= size {
            Some(false)
        } else {
            None
        }
    }

    /// The affine form of a value that stays below [`MODERATE`] in size.
    fn moderate(&self, v: Val) -> Option<&Affine> {
        let affine = self.as_affine(v)?;
        let (lo, hi) = affine.range(&self.extents)?;
        (lo > -MODERATE && hi < MODERATE).then_some(affine)
    }

    /// The element of a buffer of the given shape; 0 out of range.
    ///
    /// This is the only way to read memory: a component is checked unless it is affine and its
    /// range over the iteration space lies within the buffer.
    pub fn load(&mut self, buffer: BufferId, dtype: Dtype, dims: &[usize], ix: &[Val]) -> Val {
        let outside = |(&v, &size): (&Val, &usize)| self.in_range(v, size) == Some(false);
        if !self.empty() && ix.iter().zip(dims).any(outside) {
            return self.zero(dtype);
        }
        match self.affine_place(dims, ix) {
            Some((at, checks)) => self.push(Instr::Load { buffer, at, checks }, dtype),
            None => self.push(Instr::LoadAt { buffer, index: components(dims, ix) }, dtype),
        }
    }

    /// An index into an array of the given shape as an affine place with the checks it needs, if
    /// every component is affine and none that must be checked may wrap.
    pub fn affine_place(&self, dims: &[usize], ix: &[Val]) -> Option<(Affine, Vec<(Affine, i64)>)> {
        let mut at = Affine::constant(0, self.extents.len());
        let mut checks = Vec::new();
        for Component { value, size, stride } in components(dims, ix) {
            let affine = self.as_affine(value)?;
            if self.in_range(value, size) != Some(true) {
                let size = i64::try_from(size).unwrap_or(MODERATE).min(MODERATE);
                checks.push((self.moderate(value)?.clone(), size));
            }
            at = at.plus(stride, affine)?;
        }
        Some((at, checks))
    }

    /// Whether there is nothing to iterate over.
    fn empty(&self) -> bool {
        self.extents.contains(&0)
    }

    /// Whether a value is 0 wherever a component of an index is out of range, because that is what
    /// its instructions make of reads with the same checks: 0, the negative zero being another number.
    fn zero_outside(&self, value: Val, ix: &[(Val, usize, bool)]) -> bool {
        let checked = |checks: &[(Affine, i64)]| {
            ix.iter().filter(|(v, size, _)| self.in_range(*v, *size) != Some(true)).all(
                |(v, size, _)| {
                    let affine = self.as_affine(*v);
                    checks.iter().any(|(a, n)| Some(a) == affine && *n == *size as i64)
                },
            )
        };
        let Some(needed) = self.needed(value, MOST_EVALUATED) else { return false };
        let mut outside: FxHashMap<Val, Option<Scalar>> = FxHashMap::default();
        for &v in &needed {
            let of = |n: usize, args: &[Val]| outside.get(args.get(n)?).copied().flatten();
            let zero = Scalar::zero(self.dtype(v), false);
            let x = match &self.instrs[v.index()] {
                Instr::Load { checks, .. } if checked(checks) => Some(zero),
                Instr::Load { .. } | Instr::LoadAt { .. } | Instr::MulAdd { .. } => None,
                Instr::Const(_) | Instr::Affine(_) => self.known(v),
                // A zero annihilates whatever it multiplies.
                Instr::Op(Op::Scale | Op::StrongMul, args) if of(0, args).is_some_and(is_zero) => {
                    Some(zero)
                }
                Instr::Op(Op::Select, args) => match (of(0, args), of(1, args), of(2, args)) {
                    (_, Some(a), Some(b)) if is_zero(a) && is_zero(b) => Some(zero),
                    (Some(Scalar::Bool(holds)), a, b) => {
                        if holds {
                            a
                        } else {
                            b
                        }
                    }
                    _ => None,
                },
                Instr::Op(op, args) => {
                    let known: Option<SmallVec<[Scalar; 3]>> =
                        (0..args.len()).map(|n| of(n, args)).collect();
                    known.and_then(|known| scalar::eval(*op, &known))
                }
            };
            outside.insert(v, x);
        }
        outside.get(&value).copied().flatten().is_some_and(is_zero)
    }

    /// What a value is made of, operands first, if these are at most so many instructions.
    fn needed(&self, value: Val, most: usize) -> Option<Vec<Val>> {
        let mut needed = vec![value];
        let mut at = 0;
        while at < needed.len() {
            let v = needed[at];
            self.instrs[v.index()].for_each_operand(|u| {
                if !needed.contains(&u) {
                    needed.push(u);
                }
            });
            if needed.len() > most {
                return None;
            }
            at += 1;
        }
        needed.sort_unstable();
        Some(needed)
    }

    /// `value` where each component is in range, 0 elsewhere.
    pub fn guarded(&mut self, value: Val, ix: &[(Val, usize, bool)]) -> Option<Val> {
        let mut mask: Option<Val> = None;
        for &(v, size, trusted) in ix {
            match self.in_range(v, size) {
                Some(true) => continue,
                Some(false) => {
                    let dtype = self.dtype(value);
                    return Some(self.zero(dtype));
                }
                None if trusted => continue,
                None => {}
            }
            let (zero, size) = (
                self.constant(Scalar::I64(0)),
                self.constant(Scalar::I64(i64::try_from(size).ok()?)),
            );
            let (above, below) = (self.op(Op::Ge, &[v, zero])?, self.op(Op::Lt, &[v, size])?);
            let both = self.op(Op::And, &[above, below])?;
            mask = Some(match mask {
                Some(mask) => self.op(Op::And, &[mask, both])?,
                None => both,
            });
        }
        match mask {
            None => Some(value),
            Some(_) if self.zero_outside(value, ix) => Some(value),
            Some(mask) => {
                let dtype = self.dtype(value);
                let zero = self.zero(dtype);
                self.op(Op::Select, &[mask, value, zero])
            }
        }
    }
}

/// An index into an array of the given shape, component by component.
pub fn components(dims: &[usize], ix: &[Val]) -> Vec<Component> {
    let mut stride = 1i64;
    let mut index = Vec::with_capacity(dims.len());
    for (&size, &value) in dims.iter().zip(ix).rev() {
        index.push(Component { value, size, stride });
        stride = stride.saturating_mul(i64::try_from(size).unwrap_or(i64::MAX));
    }
    index.reverse();
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every index of a space.
    fn positions(extents: &[usize]) -> Vec<Vec<i64>> {
        extents.iter().fold(vec![Vec::new()], |ixs, &k| {
            let longer =
                |ix: &Vec<i64>| (0..k as i64).map(|i| [&ix[..], &[i]].concat()).collect::<Vec<_>>();
            ixs.iter().flat_map(longer).collect()
        })
    }

    fn at(affine: &Affine, ix: &[i64]) -> i64 {
        affine.coeffs.iter().zip(ix).fold(affine.constant, |sum, (c, i)| sum + c * i)
    }

    /// What ranges decide holds at every index, and what holds at every index is decided.
    #[test]
    fn comparisons_and_divisions_are_decided_by_ranges() {
        let mut rng = cotan_testkit::Rng::new(5);
        let (mut decided, mut divided) = (0, 0);
        for _ in 0..4000 {
            let extents = [1 + rng.below(4), 1 + rng.below(3)];
            let mut affine = || Affine {
                constant: rng.below(9) as i64 - 4,
                coeffs: [rng.below(5) as i64 - 2, rng.below(5) as i64 - 2].into_iter().collect(),
            };
            let (a, b) = (affine(), affine());
            let k = 1 + rng.below(4) as i64;
            let ixs = positions(&extents);
            let mut body = Body::new(extents.to_vec());
            let (x, y) = (body.affine(a.clone()), body.affine(b.clone()));
            for op in [Op::Lt, Op::Le, Op::Gt, Op::Ge, Op::Eq, Op::Ne] {
                let holds = |ix: &Vec<i64>| {
                    let args = [Scalar::I64(at(&a, ix)), Scalar::I64(at(&b, ix))];
                    scalar::eval(op, &args) == Some(Scalar::Bool(true))
                };
                let v = body.op(op, &[x, y]).unwrap();
                match body.known(v) {
                    Some(known) => {
                        decided += 1;
                        assert!(ixs.iter().all(|ix| Scalar::Bool(holds(ix)) == known), "{op}");
                    }
                    // Equality may hold or fail everywhere without the ranges saying so.
                    None if matches!(op, Op::Eq | Op::Ne) => {}
                    None => assert!(ixs.iter().any(holds) && !ixs.iter().all(holds), "{op}"),
                }
            }
            let size = body.constant(Scalar::I64(k));
            for op in [Op::FloorDiv, Op::Rem] {
                let v = body.op(op, &[x, size]).unwrap();
                let Some(found) = body.as_affine(v) else { continue };
                divided += 1;
                for ix in &ixs {
                    let args = [Scalar::I64(at(&a, ix)), Scalar::I64(k)];
                    assert_eq!(scalar::eval(op, &args), Some(Scalar::I64(at(found, ix))));
                }
            }
        }
        assert!(decided > 1000 && divided > 1000, "{decided} {divided}");
    }
}
