//! Checking rewrite rules one by one.
//!
//! A rule is checked on instances: both sides are built from the same sizes, arrays and index
//! tables, and must give the same results over the field of the tests and on small integers. A term
//! that depends on an index variable in whatever way is an array read at that variable; an index
//! function is a table of integers. So the instances are as general as the rule.
//!
//! First all instances with up to 2 axes of sizes 0, 1 and 2 are enumerated, with all index tables
//! into, at and beyond the bounds; then larger ones are drawn at random. A counterexample is made
//! as small as possible before it is reported.

mod check;
mod choices;
mod scene;
mod table;

use cotan_ir::{Builder, Program, Result, TermId};

pub use check::{Counterexample, Effort, RuleReport, check_rule};
pub use scene::{Scene, Table};
pub use table::{Check, Fires, Pass, assert_all_checked, check, cons};

/// What the sides of a rule are made from.
type Setup<T> = Box<dyn Fn(&mut Scene) -> Result<T>>;
/// One side of a rule.
type Side<T> = Box<dyn Fn(&mut Builder, &T) -> Result<TermId>>;

/// What a pass makes of a program.
type Rewrite = Box<dyn Fn(&Program) -> std::result::Result<Program, String>>;

/// A rule `left ~> right if condition`, over the parts that `setup` chooses.
///
/// ```
/// use cotan_ir::scalar::Op;
/// use cotan_testkit::rules::{Effort, Rule, check_rule};
///
/// // sumOuter (t + u) ~> sumOuter t + sumOuter u
/// let rule = Rule::new(
///     "sum/add",
///     |s| {
///         let dims = s.shape_of_rank(1, 4);
///         Ok((s.array(&dims)?, s.array(&dims)?))
///     },
///     |b, &(t, u)| {
///         let both = b.op(Op::Add, &[t, u])?;
///         b.sum_outer(both)
///     },
///     |b, &(t, u)| {
///         let (t, u) = (b.sum_outer(t)?, b.sum_outer(u)?);
///         b.op(Op::Add, &[t, u])
///     },
/// );
/// check_rule(&rule, Effort::small()).unwrap();
/// ```
pub struct Rule<T> {
    name: String,
    setup: Setup<T>,
    left: Side<T>,
    right: Side<T>,
    condition: Box<dyn Fn(&T) -> bool>,
    rewrite: Option<Rewrite>,
}

impl<T> Rule<T> {
    /// A rule without side condition.
    pub fn new(
        name: impl Into<String>,
        setup: impl Fn(&mut Scene) -> Result<T> + 'static,
        left: impl Fn(&mut Builder, &T) -> Result<TermId> + 'static,
        right: impl Fn(&mut Builder, &T) -> Result<TermId> + 'static,
    ) -> Rule<T> {
        Rule {
            name: name.into(),
            setup: Box::new(setup),
            left: Box::new(left),
            right: Box::new(right),
            condition: Box::new(|_| true),
            rewrite: None,
        }
    }

    /// The same under a side condition.
    pub fn when(mut self, condition: impl Fn(&T) -> bool + 'static) -> Rule<T> {
        self.condition = Box::new(condition);
        self
    }

    /// The same, and what `rewrite` makes of the left side alone must agree with it too: the pass
    /// that is to apply the rule.
    pub fn rewritten_by(
        mut self,
        rewrite: impl Fn(&Program) -> std::result::Result<Program, String> + 'static,
    ) -> Rule<T> {
        self.rewrite = Some(Box::new(rewrite));
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }
}
