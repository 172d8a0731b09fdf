//! Loops that fold the rows of arrays by an operation of which the order does not matter: reductions.

use cotan_array::Dtype;
use cotan_ir::scalar::{Op, Scalar};
use cotan_ir::{MapAccum, Node, Program, Result, TermId};

use crate::emit::Emitter;
use crate::value::Val;

/// What one state of a loop becomes: the state folded with a row of an input.
struct Fold {
    op: Op,
    input: usize,
}

impl Emitter<'_> {
    /// The states of a loop all of which are folds, and that has no outputs.
    pub(crate) fn folded(&mut self, m: &MapAccum) -> Result<Option<Vec<Val>>> {
        let results = self.program.region(m.step).results();
        if results.len() != m.init.len() {
            return Ok(None);
        }
        let folds = results.iter().enumerate().map(|(n, &t)| fold(self.program, m, n, t));
        let Some(folds) = folds.collect::<Option<Vec<Fold>>>() else { return Ok(None) };
        let mut found = Vec::with_capacity(folds.len());
        for (fold, &init) in folds.iter().zip(&m.init) {
            let (start, rows) = (self.value(init)?, self.value(m.inputs[fold.input])?);
            let w = &mut self.w;
            let Some((name, neutral)) = reduction(fold.op, rows.ty.dtype) else { return Ok(None) };
            let neutral = w.fill(neutral, &[]);
            let all = w.reduce(name, &rows, &neutral, &[0]);
            found.push(w.binary(name, &start, &all));
        }
        Ok(Some(found))
    }
}

fn fold(program: &Program, m: &MapAccum, state: usize, result: TermId) -> Option<Fold> {
    let Node::Op(op, args) = program.node(result) else { return None };
    let [a, b] = args[..] else { return None };
    reduction(*op, program.dtype(result))?;
    let params = program.region(m.step).params();
    let is_state = |t: TermId| params.get(state) == Some(&t);
    let row = |t: TermId| params[m.init.len()..].iter().position(|&param| param == t);
    let input = if is_state(a) { row(b)? } else { is_state(b).then(|| row(a))?? };
    Some(Fold { op: *op, input })
}

/// The operation that folds, and what it leaves everything else as it is.
fn reduction(op: Op, dtype: Dtype) -> Option<(&'static str, Scalar)> {
    let extreme = |float: f64, integer: i64| match dtype {
        Dtype::F64 => Some(Scalar::F64(float)),
        Dtype::F32 => Some(Scalar::F32(float as f32)),
        Dtype::I64 => Some(Scalar::I64(integer)),
        Dtype::Bool => None,
    };
    Some(match (op, dtype) {
        (Op::Max, _) => ("maximum", extreme(f64::NEG_INFINITY, i64::MIN)?),
        (Op::Min, _) => ("minimum", extreme(f64::INFINITY, i64::MAX)?),
        (Op::Add, Dtype::F64 | Dtype::F32 | Dtype::I64) => ("add", Scalar::zero(dtype, false)),
        (Op::Mul, Dtype::I64) => ("multiply", Scalar::I64(1)),
        (Op::And, Dtype::Bool) => ("and", Scalar::Bool(true)),
        (Op::Or, Dtype::Bool) => ("or", Scalar::Bool(false)),
        _ => return None,
    })
}
