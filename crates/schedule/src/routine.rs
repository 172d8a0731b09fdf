//! What routines need to work in, and the blocks in which they work.

use cotan_ir::Routine;

use crate::transform::Transform;

/// The room for packed operands of products, in which most of the work of routines is done.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// The rows of a block of the left operand.
    pub rows: usize,
    /// The columns of a block of the right operand.
    pub columns: usize,
    /// How deep blocks are.
    pub depth: usize,
}

impl Room {
    /// Blocks of at most so many rows: packed and as deep as a block, they stay in the second cache.
    pub const ROWS: usize = 96;
    /// Blocks of at most so many columns: packed, they stay in the third cache.
    pub const COLUMNS: usize = 960;
    /// The deepest block.
    pub const DEPTH: usize = 256;

    /// Room for matrices of at most so many rows and columns. Rows and columns are those of full
    /// tiles, on any machine.
    pub fn new(rows: usize, columns: usize) -> Room {
        Room {
            rows: Room::ROWS.min(rows.next_multiple_of(24)),
            columns: Room::COLUMNS.min(columns.next_multiple_of(48)),
            depth: Room::DEPTH.min(rows.max(columns)),
        }
    }

    /// How many elements that takes.
    pub fn elements(&self) -> usize {
        (self.rows + self.columns) * self.depth + 64
    }
}

/// So many columns are eliminated one after the other, in a panel of their own.
pub const PANEL: usize = 16;

/// So many reflections are applied at once.
pub const REFLECTED: usize = 32;

/// The room for two matrices of which one is transposed, and for blocks of reflections.
fn reflector_room(rows: usize, columns: usize) -> usize {
    let matrices = rows.saturating_mul(columns).saturating_mul(2);
    let blocks = rows.saturating_add(columns.saturating_mul(3)).saturating_mul(REFLECTED);
    matrices.saturating_add(blocks).saturating_add(REFLECTED * REFLECTED)
}

/// The room for eigenvalues and eigenvectors: five matrices, blocks of reflections, and vectors.
fn eigen_room(n: usize) -> usize {
    let matrices = n.saturating_mul(n).saturating_mul(5);
    let blocks = n.saturating_mul(4 * REFLECTED);
    let vectors = n.saturating_mul(16);
    matrices.saturating_add(blocks).saturating_add(vectors).saturating_add(REFLECTED * REFLECTED)
}

/// The room that a routine needs, in numbers of 8 bytes: for packed operands, for a panel of columns
/// and the exchanges of its rows, and for right sides.
pub fn routine_room(routine: Routine, rows: usize, columns: usize) -> usize {
    if let Routine::Dft | Routine::DftConjugate = routine {
        return Transform::room(rows);
    }
    let packed = Room::new(rows, rows.max(columns)).elements();
    let own = match routine {
        Routine::LuFactors | Routine::LuRows => rows.saturating_mul(PANEL + 1),
        Routine::LuSolve | Routine::LuSolveTransposed => rows.saturating_mul(columns),
        Routine::Cholesky | Routine::Dft | Routine::DftConjugate => 0,
        Routine::SolveLower
        | Routine::SolveUpper
        | Routine::SolveUnitLower
        | Routine::SolveUnitUpper => 0,
        Routine::QrQ | Routine::QrR => reflector_room(rows, columns),
        Routine::EighValues | Routine::EighVectors => eigen_room(rows),
        Routine::SvdLeft | Routine::SvdValues | Routine::SvdRight => rows
            .saturating_mul(columns)
            .saturating_mul(2)
            .saturating_add(eigen_room(columns))
            .saturating_add(columns.saturating_mul(columns))
            .saturating_add(columns.saturating_mul(4)),
        Routine::Pseudoinverse => columns.saturating_mul(columns),
    };
    // Vectors that are solved for one at a time.
    packed.saturating_add(own).saturating_add(rows)
}
