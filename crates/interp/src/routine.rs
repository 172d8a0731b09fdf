//! Numerical routines: each element of the batch by the schoolbook, in the mode of the run.

use std::rc::Rc;

use cotan_ir::{CellValue, Routine, TermId, Type};

use crate::error::Result;
use crate::machine::Machine;
use crate::tensor::{Entry, Tensor};

impl Machine<'_> {
    /// `(routine t ..)[is ++ js] = routine(t[is], ..)[js]`
    pub(crate) fn routine(&mut self, ty: &Type, routine: Routine, ts: &[TermId]) -> Result<Tensor> {
        let operands: Vec<Rc<Tensor>> = ts.iter().map(|&t| self.value(t)).collect::<Result<_>>()?;
        let batch = ty.shape.rank() - routine.result_rank();
        let count: usize = ty.shape.dims()[..batch].iter().product();
        let size: usize = ty.shape.dims()[batch..].iter().product();
        let zero = self.zero(ty.dtype).value;
        self.make(ty, |m, entries| {
            for n in 0..count {
                let mut poisoned = false;
                let mut cells = Vec::with_capacity(operands.len());
                for t in &operands {
                    let dims = &t.dims()[batch..];
                    let size: usize = dims.iter().product();
                    m.reads(size as u64)?;
                    let part = &t.entries[n * size..(n + 1) * size];
                    poisoned |= part.iter().any(|x| x.poisoned);
                    cells.push(CellValue::new(dims, part.iter().map(|x| x.value).collect()));
                }
                let result =
                    routine.by_the_book(&cells, zero, &mut |op, args| m.scalar(op, args))?;
                m.writes(size as u64)?;
                entries.extend(result.into_iter().map(|x| Entry::sound(x).tainted_by(poisoned)));
            }
            Ok(())
        })
    }
}
