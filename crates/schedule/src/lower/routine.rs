//! Numerical routines: where what they read lies, and which of them are run together.

use cotan_array::{Dtype, Shape};
use cotan_ir::{Node, Program, Routine, TermId};
use cotan_nest::{BufferId, Cells, Nest, Role, RoutineStep, Step, family, fewest, is_read};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{Lowering, Place, R, Unsupported};
use crate::routine::routine_room;

/// The nodes that are results of the same factorisation as others: by the first routine of the
/// family and the operand.
pub(super) type Relatives = FxHashMap<(Routine, TermId), SmallVec<[TermId; 3]>>;

pub(super) fn relatives(program: &Program) -> Relatives {
    let mut found = Relatives::default();
    for t in program.terms() {
        if let Node::Routine(routine, ts) = program.node(t)
            && let [first, _, ..] = *family(*routine)
        {
            found.entry((first, ts[0])).or_default().push(t);
        }
    }
    found
}

impl Lowering<'_> {
    /// What must be in memory for a routine.
    pub(super) fn routine_bases(&self, routine: Routine, ts: &[TermId]) -> SmallVec<[TermId; 4]> {
        let read = ts.iter().enumerate().filter(|(n, _)| is_read(routine, *n));
        read.map(|(_, &t)| self.cells(t).0).collect()
    }

    /// A routine, as a step with all that its relatives need.
    pub(super) fn routine_step(&mut self, t: TermId, steps: &mut Vec<Step<Nest>>) -> R<Place> {
        if let Some(b) = self.held(t) {
            return Ok(Place::Buffer(b));
        }
        let program = self.program;
        let Node::Routine(routine, ts) = program.node(t) else {
            return Err(Unsupported("not a routine"));
        };
        let (dims, rank) = (program.shape(t).dims(), routine.result_rank());
        let batch: Box<[usize]> = dims[..dims.len() - rank].into();
        let mut operands = Vec::with_capacity(ts.len());
        for (n, &u) in ts.iter().enumerate().filter(|(n, _)| is_read(*routine, *n)) {
            let (base, strides) = self.cells(u);
            let cell = strides.len() - routine.cell_rank(n);
            let (outer, inner) = strides.split_at(cell);
            operands.push(Cells {
                buffer: self.buffer_of(base)?,
                batch: outer.into(),
                row: inner.first().copied().unwrap_or(0),
                column: inner.last().copied().unwrap_or(0),
            });
        }
        let last = ts.last().map_or(&[][..], |&u| program.shape(u).dims());
        let axis_n = routine.row().operands[0].axes.find('n').unwrap_or(0);
        let rows = program.shape(ts[0]).dims()[batch.len() + axis_n];
        let columns = last.last().copied().unwrap_or(1);
        let dtype = program.dtype(ts[0]);
        let relatives = self.relatives.get(&(family(*routine)[0], ts[0])).cloned();
        let relatives = relatives.unwrap_or_else(|| SmallVec::from_slice(&[t]));
        // All results, or the first alone.
        let members = family(*routine);
        let is_first =
            |&u: &TermId| matches!(program.node(u), Node::Routine(r, _) if *r == members[0]);
        let count = if relatives.iter().all(is_first) { fewest(*routine) } else { members.len() };
        let mut results = Vec::new();
        for &member in &members[..count] {
            let types: Vec<_> = ts.iter().map(|&u| program.ty(u)).collect();
            let ty =
                member.result_type(&types).map_err(|_| Unsupported("a routine without a type"))?;
            let to = self.temporary(&ty);
            results.push(to);
            for &other in &relatives {
                let own = matches!(program.node(other), Node::Routine(r, _) if *r == member);
                if own
                    && other != t
                    && let Some(list) = self.lists.last_mut()
                {
                    list.insert(other, to);
                }
            }
        }
        let own = family(*routine).iter().position(|r| r == routine).unwrap_or(0);
        let needed = routine_room(family(*routine)[0], rows, columns);
        let room = Shape::new("routine", &[needed]).map_err(|_| Unsupported("too large"))?;
        let room: BufferId = self.buffer(Dtype::F64, room, Role::Temporary(0));
        let to = results[own];
        let step = RoutineStep {
            routine: family(*routine)[0],
            dtype,
            batch,
            rows,
            columns,
            operands,
            results,
            room,
            needed,
        };
        steps.push(Step::Routine(Box::new(step)));
        Ok(Place::Buffer(to))
    }

    /// An array below copies and transpositions, and how many elements further the next one is along
    /// each axis.
    fn cells(&self, t: TermId) -> (TermId, SmallVec<[usize; 8]>) {
        let program = self.program;
        let (mut base, mut axes): (TermId, SmallVec<[Option<usize>; 8]>) =
            (t, (0..program.shape(t).rank()).map(Some).collect());
        loop {
            match program.node(base) {
                Node::Replicate(_, u) => {
                    axes.iter_mut().for_each(|axis| *axis = axis.and_then(|k| k.checked_sub(1)));
                    base = *u;
                }
                Node::Transpose(perm, u) => {
                    for axis in axes.iter_mut().flatten() {
                        *axis = perm.get(*axis).map_or(*axis, |&k| usize::from(k));
                    }
                    base = *u;
                }
                _ => break,
            }
        }
        let own = program.shape(base).dims();
        let stride = |axis: &Option<usize>| axis.map_or(0, |k| own[k + 1..].iter().product());
        (base, axes.iter().map(stride).collect())
    }
}
