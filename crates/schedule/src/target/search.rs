//! How far planning looks for better plans: what bounds its own time, and the size of what it makes.

/// How far planning looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// Nodes that are planned between two looks at the deadline.
    pub nodes_per_look: usize,
    /// An expansion goes at most so deep. Without optimisation 200 take half of the stack of a thread.
    pub max_expansion_depth: usize,
    /// A body in the making has at most about so many instructions: what an index function computes
    /// is expanded wherever it is read, which may be at exponentially many places.
    pub max_expansion_instrs: usize,
    /// Branches within branches are told apart to this depth.
    pub max_branch_depth: u32,
    /// A nest is cut into at most so many boxes where conditions on its indices change.
    pub max_boxes: usize,
    /// A product has at most so many factors.
    pub max_factors: usize,
    /// .. and so many that depend on different dimensions.
    pub max_factor_kinds: usize,
    /// A sum of at most so many terms is taken apart.
    pub max_terms: usize,
    /// An array that more steps touch stays where it is.
    pub max_moved_users: usize,
    /// More versions of the state of a loop are not looked for.
    pub max_versions: usize,
    /// A nest that changes more regions of an array is computed as a whole: each takes the operations
    /// of all.
    pub max_regions: usize,
    /// Masks of more operations are not looked through.
    pub max_mask_operations: usize,
    /// Most instructions of the fused nests of straight code: values are kept until they are stored.
    pub max_fused_instrs: usize,
    /// A group has at most so many nests: as many as a derivative of a few dozen operations has,
    /// which then hands on blocks only.
    pub max_group_nests: usize,
    /// How many groups a nest is tried with.
    pub group_tries: usize,
    /// So many ways to share a dimension are compared.
    pub group_ways: usize,
    /// How many nests back a nest is tried to be merged with.
    pub merge_tries: usize,
    /// So many ways to go through the space of two nests are compared.
    pub merge_ways: usize,
    /// A merged nest has at most so many instructions.
    pub max_merged_instrs: usize,
}

impl Search {
    /// Milliseconds for a program of some hundred nodes.
    pub const USUAL: Search = Search {
        nodes_per_look: 64,
        max_expansion_depth: 200,
        max_expansion_instrs: 1 << 14,
        max_branch_depth: 32,
        max_boxes: 9,
        max_factors: 16,
        max_factor_kinds: 4,
        max_terms: 4,
        max_moved_users: 64,
        max_versions: 16,
        max_regions: 12,
        max_mask_operations: 64,
        max_fused_instrs: 64,
        max_group_nests: 128,
        group_tries: 4,
        group_ways: 8,
        merge_tries: 8,
        merge_ways: 4,
        max_merged_instrs: 160,
    };
}
