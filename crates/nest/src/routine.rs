//! Numerical routines.

use cotan_array::Dtype;
use cotan_ir::Routine;

use crate::nest::BufferId;

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
    /// How many numbers of 8 bytes of it are needed: who runs the plan says that.
    pub needed: usize,
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
