//! Numerical routines.

use cotan_array::Dtype;
use cotan_ir::Routine;

use crate::nest::BufferId;
use crate::transform::Transform;

/// The cells of an operand, somewhere in a buffer: copies are not made.
#[derive(Clone, Debug)]
pub struct Cells {
    /// Where its elements are.
    pub buffer: BufferId,
    /// How many elements further the next one is, along each axis of the batch.
    pub batch: Box<[usize]>,
    /// The same along the axes of a cell: the first and the last, of which a vector has one.
    pub row: usize,
    /// See [`Cells::row`].
    pub column: usize,
}

/// A routine of each element of a batch. Results lie one after the other.
#[derive(Clone, Debug)]
pub struct RoutineStep {
    /// The routine; for one of several of the same operand, the first of them.
    pub routine: Routine,
    /// The type of the floats.
    pub dtype: Dtype,
    /// The sizes of the batch.
    pub batch: Box<[usize]>,
    /// The size `n` of the first operand, or of the first that is read: rows of a matrix.
    pub rows: usize,
    /// The columns of the last operand.
    pub columns: usize,
    /// The operands that are read.
    pub operands: Vec<Cells>,
    /// The results: of a factorisation all.
    pub results: Vec<BufferId>,
    /// Room to work in.
    pub room: BufferId,
}

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

/// Routines that are results of one factorisation, in the order of its results.
const FAMILIES: &[&[Routine]] = &[
    &[Routine::LuFactors, Routine::LuRows],
    &[Routine::QrR, Routine::QrQ],
    &[Routine::EighValues, Routine::EighVectors],
    &[Routine::SvdValues, Routine::SvdLeft, Routine::SvdRight],
];

/// The results of the factorisation that a routine is one of, and itself otherwise.
pub fn family(routine: Routine) -> &'static [Routine] {
    let own = FAMILIES.iter().find(|family| family.contains(&routine));
    own.copied().unwrap_or_else(|| {
        let position = Routine::ALL.iter().position(|&other| other == routine).unwrap_or(0);
        &Routine::ALL[position..position + 1]
    })
}

/// How many results of its family a routine has at least: where nothing else is needed the first, if
/// it is cheaper to have alone.
pub fn fewest(routine: Routine) -> usize {
    match family(routine) {
        [Routine::LuFactors, ..] => 2,
        _ => 1,
    }
}

/// Which operands a routine reads.
pub fn is_read(routine: Routine, operand: usize) -> bool {
    // The matrix is there for the derivative only.
    let by_factors =
        matches!(routine, Routine::LuSolve | Routine::LuSolveTransposed | Routine::Pseudoinverse);
    operand > 0 || !by_factors
}

impl RoutineStep {
    /// The routine of a result.
    pub fn member(&self, result: usize) -> Routine {
        family(self.routine).get(result).copied().unwrap_or(self.routine)
    }

    /// The cells of an operand, if it is read.
    pub fn read(&self, operand: usize) -> Option<&Cells> {
        let before = (0..operand).filter(|&n| is_read(self.routine, n)).count();
        self.operands.get(before).filter(|_| is_read(self.routine, operand))
    }

    /// The sizes of the cells of an operand.
    pub fn dims(&self, operand: usize) -> Vec<usize> {
        let size = |letter: char| match letter.to_digit(10) {
            Some(digit) => digit as usize,
            None if letter == 'n' => self.rows,
            None => self.columns,
        };
        self.routine.row().operands[operand].axes.chars().map(size).collect()
    }

    /// The buffers that it touches.
    pub fn for_each_buffer(&self, f: &mut dyn FnMut(BufferId)) {
        self.results.iter().chain([&self.room]).for_each(|&b| f(b));
        self.operands.iter().for_each(|cells| f(cells.buffer));
    }

    /// The same, to change them.
    pub fn for_each_buffer_mut(&mut self, f: &dyn Fn(&mut BufferId)) {
        self.results.iter_mut().chain([&mut self.room]).for_each(f);
        self.operands.iter_mut().for_each(|cells| f(&mut cells.buffer));
    }
}
