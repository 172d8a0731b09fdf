//! Where arrays lie: in the caller's workspace, a structure with one array for each type of elements.

use cotan_array::Dtype;
use cotan_nest::{Alignment, Buffer, Plan, Role, place_temporaries};

use crate::literal::{suffix, type_of};

/// Types in the order of the structure, the widest first.
const ORDER: [Dtype; 4] = [Dtype::F64, Dtype::I64, Dtype::F32, Dtype::Bool];

/// The member of the structure for a type.
fn member(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::Bool => "flags",
        dtype => suffix(dtype),
    }
}

/// The workspace of a function.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Where each temporary begins, in elements of its type.
    offsets: Vec<usize>,
    /// How many elements of each type there are, in the order of the structure.
    counts: [usize; 4],
    /// How many elements of each type copies of operands need.
    room: [usize; 4],
}

impl Layout {
    /// Places the temporaries of a plan, those of each type for themselves: then every element of the
    /// workspace has one type, as the rules of C on aliases want.
    pub(crate) fn of(
        plan: &Plan,
        alignment: Alignment,
        room: impl Fn(Dtype) -> usize,
    ) -> Option<Layout> {
        let mut layout =
            Layout { offsets: vec![0; plan.buffers.len()], counts: [0; 4], room: ORDER.map(room) };
        for (n, dtype) in ORDER.into_iter().enumerate() {
            let mine = |b: &Buffer| b.dtype == dtype && matches!(b.role, Role::Temporary(_));
            let own = |b: &Buffer| match mine(b) {
                true => b.clone(),
                false => Buffer { role: Role::View, ..b.clone() },
            };
            let mut buffers: Vec<Buffer> = plan.buffers.iter().map(own).collect();
            let bytes = place_temporaries(&mut buffers, &plan.steps, alignment);
            if bytes == usize::MAX {
                return None;
            }
            layout.counts[n] = bytes.div_ceil(dtype.size());
            for (offset, buffer) in layout.offsets.iter_mut().zip(&buffers) {
                if let Role::Temporary(bytes) = buffer.role {
                    *offset = bytes / dtype.size();
                }
            }
        }
        Some(layout)
    }

    /// A temporary as an expression.
    pub(crate) fn place(&self, n: usize, dtype: Dtype) -> String {
        match self.offsets[n] {
            0 => format!("work->{}", member(dtype)),
            offset => format!("work->{} + {offset}", member(dtype)),
        }
    }

    /// The members of the structure; nothing if there are none.
    pub(crate) fn members(&self) -> Vec<String> {
        let mut members = Vec::new();
        for (n, dtype) in ORDER.into_iter().enumerate() {
            for (kind, count) in [("", self.counts[n]), ("pack_", self.room[n])] {
                if count > 0 {
                    let (ty, member) = (type_of(dtype), member(dtype));
                    members.push(format!("{ty} {kind}{member}[{count}];"));
                }
            }
        }
        members
    }

    /// The bytes of the structure.
    pub(crate) fn bytes(&self) -> usize {
        let bytes = |n: usize| (self.counts[n] + self.room[n]).saturating_mul(ORDER[n].size());
        (0..4).map(bytes).fold(0, usize::saturating_add)
    }
}
