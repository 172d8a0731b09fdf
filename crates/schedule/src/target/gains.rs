//! When another plan is worth it, as shares and counts that hold on machines of this kind.

/// When another plan is worth it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gains {
    /// An operand of a matrix product is computed into memory if each of its elements is used at
    /// least so many times.
    pub min_operand_uses: usize,
    /// .. and if it has at most so many elements: memory matters, too.
    pub max_operand_elements: usize,
    /// .. at a shape of its own, if windows read each of its elements at least so many times.
    pub min_window_uses: usize,
    /// An operand that is read with checks is copied to where it needs none if windows read each of
    /// its elements at least so many times.
    pub min_padded_uses: usize,
    /// Many products of a matrix and a vector are contractions if the matrix has at least so many
    /// columns.
    pub min_vector_columns: usize,
    /// .. and at most so many: others suit the ordinary kernel as well.
    pub max_vector_columns: usize,
    /// A sum whose factors have each so many times fewer elements than there are summands is a step
    /// of its own, as a product of matrices is.
    pub min_factor_terms: usize,
    /// A sum is taken in steps if that needs so many times fewer operations.
    pub min_early_saving: usize,
    /// A sum of at least so many elements is copied if the same was taken before.
    pub min_copied_sum: usize,
    /// .. if it has at least so many for each element of the result.
    pub min_copied_terms: usize,
    /// An array of more elements keeps runs of neighbours together that are longer than a line of the
    /// cache: writing to places that lie apart is dearer than a copy.
    pub max_scattered_elements: usize,
    /// Arrays of at least so many rows may lie column by column.
    pub min_column_rows: usize,
    /// .. if a row has at most so many elements.
    pub max_column_elements: usize,
    /// An input is copied by columns for nests with at least so many positions for each element.
    pub min_column_reads: usize,
    /// A state is changed where it lies if it has at least so many elements for each that is computed.
    pub min_region_share: usize,
    /// Nests look at arrays first if they have at least so many positions for each element of these.
    pub min_relaxed_uses: usize,
    /// For each element of a sum's part a block adds up at least so many.
    pub min_part_uses: usize,
    /// A share of the cost of a group matters from one of so many parts on.
    pub min_counted_share: usize,
    /// A nest is cut into blocks along its longest dimension if that has so many positions; a sum
    /// along what it sums over otherwise.
    pub min_shared_positions: usize,
    /// Groups of nests that leave out positions have at least so many blocks.
    pub min_wedge_blocks: usize,
    /// .. if each then has so many element operations.
    pub min_wedge_operations: usize,
    /// The lengths that such nests are there in.
    pub wedge_panels: usize,
    /// The same for nests that are seldom run.
    pub seldom_wedge_panels: usize,
    /// A condition is a branch if its sides have so many operations for each element of the results.
    pub min_branch_work: u64,
}

impl Gains {
    /// As measured.
    pub const USUAL: Gains = Gains {
        min_operand_uses: 8,
        max_operand_elements: 1 << 27,
        min_window_uses: 2,
        min_padded_uses: 2,
        min_vector_columns: 4,
        max_vector_columns: 64,
        min_factor_terms: 8,
        min_early_saving: 4,
        min_copied_sum: 4096,
        min_copied_terms: 8,
        max_scattered_elements: 1 << 14,
        min_column_rows: 256,
        max_column_elements: 8,
        min_column_reads: 16,
        min_region_share: 8,
        min_relaxed_uses: 32,
        min_part_uses: 16,
        min_counted_share: 8,
        min_shared_positions: 8,
        min_wedge_blocks: 16,
        min_wedge_operations: 1 << 12,
        wedge_panels: 16,
        seldom_wedge_panels: 4,
        min_branch_work: 16,
    };
}
