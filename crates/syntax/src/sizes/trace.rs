//! What an elaboration at a generic point finds out about sizes.

use std::collections::BTreeMap;

use cotan_ir::scalar::Op;
use rustc_hash::{FxHashMap, FxHashSet};

use super::poly::Poly;
use super::space::{Atom, Space};
use super::system::{Condition, System};
use crate::diagnostic::Diagnostic;

/// More is not recorded.
const MAX_EVENTS: usize = 10_000;
/// Numbers below this that come from nowhere are taken for constants: they are smaller than sizes
/// in general position.
const SMALL: i64 = 32;

/// Where a static value comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It is the same for all sizes.
    #[default]
    Constant,
    /// An expression of sizes, or a comparison of such.
    Tracked(u32),
    /// It depends on sizes in a way that is not followed.
    Unknown,
}

/// A static value as an expression of sizes.
#[derive(Clone, Debug)]
enum Static {
    Int(Poly),
    Test(Test),
}

/// A comparison of sizes.
#[derive(Clone, Debug)]
pub(crate) enum Test {
    Is(Condition),
    Not(Box<Test>),
    Both(Box<Test>, Box<Test>),
    Either(Box<Test>, Box<Test>),
}

/// What happened, in order.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// The program depends on which of these holds: exactly one does, here the first.
    Decide(Vec<Condition>),
    /// Two expressions have the same value here, without being the same: the point is not generic.
    Coincide(Condition),
    /// This holds here and must always; otherwise there is the message.
    Need(Condition, Box<Diagnostic>),
    /// An error, which would be none if the conditions of one of the options held; `None` if that is
    /// not known.
    Fail(Option<Vec<Vec<Condition>>>, Box<Diagnostic>),
    /// Something that is not followed depends on sizes.
    Opaque,
    /// A warning.
    Warn(Box<Diagnostic>),
}

/// The record of one elaboration.
#[derive(Debug)]
pub(crate) struct Trace {
    pub(crate) space: Space,
    system: System,
    values: BTreeMap<Atom, i128>,
    /// The expression behind a number; `None` if it is not known.
    numbers: FxHashMap<i64, Option<Poly>>,
    statics: Vec<Static>,
    pub(crate) events: Vec<Event>,
    /// The conditions that are among the events.
    needed: FxHashSet<Poly>,
    /// What would prevent the next error.
    pending: Option<Option<Vec<Vec<Condition>>>>,
}

impl Trace {
    /// A record for sizes that satisfy a system, at a point of it.
    pub(crate) fn new(space: Space, system: System, values: BTreeMap<Atom, i128>) -> Trace {
        let mut trace = Trace {
            space,
            system,
            values,
            numbers: FxHashMap::default(),
            statics: Vec::new(),
            events: Vec::new(),
            needed: FxHashSet::default(),
            pending: None,
        };
        for k in 0..2 {
            trace.register(k, Some(Poly::constant(i128::from(k))));
        }
        let params: Vec<Atom> = trace.space.params().map(|(atom, _)| atom).collect();
        for atom in params {
            if let Some(value) = trace.value(atom) {
                trace.register(value, Some(Poly::atom(atom)));
            }
        }
        trace
    }

    /// The value of a parameter here.
    pub(crate) fn value(&self, atom: Atom) -> Option<i64> {
        self.values.get(&atom).and_then(|v| i64::try_from(*v).ok())
    }

    pub(crate) fn push(&mut self, event: Event) {
        if self.events.len() < MAX_EVENTS {
            self.events.push(event);
        }
    }

    // ---- numbers ------------------------------------------------------------------------------

    /// A number with the expression it comes from.
    pub(crate) fn register(&mut self, number: i64, p: Option<Poly>) {
        let before = match self.numbers.get(&number) {
            None => {
                self.numbers.insert(number, p);
                return;
            }
            Some(before) => before.clone(),
        };
        match before.zip(p) {
            Some((before, p)) if before == p => {}
            Some((before, p)) => {
                let Some(difference) = p.sub(&before) else { return };
                let reduced = self.system.reduce(&difference, &mut self.space);
                if reduced.is_none_or(|d| !d.is_zero()) {
                    self.push(Event::Coincide(Condition::Zero(difference)));
                }
            }
            None => drop(self.numbers.insert(number, None)),
        }
    }

    /// The expression behind a number.
    pub(crate) fn of(&self, number: i64) -> Option<Poly> {
        match self.numbers.get(&number) {
            Some(known) => known.clone(),
            None if number.abs() < SMALL => Some(Poly::constant(i128::from(number))),
            None => None,
        }
    }

    /// The expression behind a size.
    pub(crate) fn of_size(&self, k: usize) -> Option<Poly> {
        self.of(i64::try_from(k).ok()?)
    }

    /// The numbers and their expressions, where these are not constants.
    pub(crate) fn named_numbers(&self) -> impl Iterator<Item = (i64, &Poly)> {
        let known = self.numbers.iter().filter_map(|(k, p)| Some((*k, p.as_ref()?)));
        known.filter(|(k, p)| k.abs() >= SMALL && p.as_constant().is_none())
    }

    // ---- static values ------------------------------------------------------------------------

    /// The origin of an expression.
    pub(crate) fn int(&mut self, p: Option<Poly>) -> Origin {
        match p {
            None => Origin::Unknown,
            Some(p) if p.as_constant().is_some() => Origin::Constant,
            Some(p) => {
                self.statics.push(Static::Int(p));
                Origin::Tracked((self.statics.len() - 1) as u32)
            }
        }
    }

    /// The expression of a static integer.
    pub(crate) fn poly(&self, origin: Origin, value: i64) -> Option<Poly> {
        match origin {
            Origin::Constant => Some(Poly::constant(i128::from(value))),
            Origin::Unknown => None,
            Origin::Tracked(at) => match self.statics.get(at as usize)? {
                Static::Int(p) => Some(p.clone()),
                Static::Test(_) => None,
            },
        }
    }

    fn test_of(&self, origin: Origin) -> Option<Test> {
        let Origin::Tracked(at) = origin else { return None };
        match self.statics.get(at as usize)? {
            Static::Test(test) => Some(test.clone()),
            Static::Int(_) => None,
        }
    }

    /// The origin of an operation on static integers.
    pub(crate) fn fold(&mut self, op: Op, args: &[(Origin, i64)]) -> Origin {
        if args.iter().all(|(origin, _)| *origin == Origin::Constant) {
            return Origin::Constant;
        }
        let polys: Option<Vec<Poly>> = args.iter().map(|(o, v)| self.poly(*o, *v)).collect();
        let Some(polys) = polys else { return Origin::Unknown };
        if let [a, b] = polys.as_slice()
            && let Some(test) = compare(op, a, b)
        {
            return self.test(test);
        }
        let made = match (op, polys.as_slice()) {
            (Op::Neg, [a]) => a.scale(-1),
            (Op::Add, [a, b]) => a.add(b),
            (Op::Sub, [a, b]) => a.sub(b),
            (Op::Mul, [a, b]) => a.mul(b),
            (Op::FloorDiv | Op::Rem, [a, b]) => b.as_constant().and_then(|c| {
                let (q, r) = self.space.divide(a, c)?;
                Some(if op == Op::FloorDiv { q } else { r })
            }),
            (Op::Powi, [a, b]) => b
                .as_constant()
                .filter(|n| (0..=8).contains(n))
                .and_then(|n| (0..n).try_fold(Poly::constant(1), |power, _| power.mul(a))),
            _ => None,
        };
        self.int(made)
    }

    /// The origin of a logical operation on static truth values.
    pub(crate) fn logic(&mut self, op: Op, args: &[(Origin, bool)]) -> Origin {
        let tests: Option<Vec<Test>> =
            args.iter().map(|(origin, _)| self.test_of(*origin)).collect();
        let test = match (op, tests.as_deref(), args) {
            (Op::Not, Some([a]), _) => Test::Not(Box::new(a.clone())),
            (Op::And, Some([a, b]), _) => Test::Both(Box::new(a.clone()), Box::new(b.clone())),
            (Op::Or, Some([a, b]), _) => Test::Either(Box::new(a.clone()), Box::new(b.clone())),
            // One of them is the same for all sizes: it decides, or the other does.
            (Op::And | Op::Or, None, [(a, x), (b, y)]) => {
                let (constant, other) = match (*a, *b) {
                    (Origin::Constant, b) => (*x, b),
                    (a, Origin::Constant) => (*y, a),
                    _ => return Origin::Unknown,
                };
                return if constant == (op == Op::Or) { Origin::Constant } else { other };
            }
            _ if args.iter().all(|(origin, _)| *origin == Origin::Constant) => {
                return Origin::Constant;
            }
            _ => return Origin::Unknown,
        };
        self.test(test)
    }

    fn test(&mut self, test: Test) -> Origin {
        self.statics.push(Static::Test(test));
        Origin::Tracked((self.statics.len() - 1) as u32)
    }

    /// The program depends on a static truth value.
    pub(crate) fn decide(&mut self, origin: Origin) {
        match origin {
            Origin::Constant => {}
            Origin::Unknown => self.push(Event::Opaque),
            Origin::Tracked(_) => {
                let mut reasons: Vec<Vec<Condition>> = Vec::new();
                let explained =
                    self.test_of(origin).and_then(|test| self.explain(&test, &mut reasons));
                match explained {
                    Some(()) => reasons.into_iter().for_each(|l| self.push(Event::Decide(l))),
                    None => self.push(Event::Opaque),
                }
            }
        }
    }

    /// Conditions that hold here, and of which a test's outcome is a consequence, each with what
    /// else could be.
    fn explain(&self, test: &Test, reasons: &mut Vec<Vec<Condition>>) -> Option<()> {
        match test {
            Test::Is(condition) => {
                let mut cases = condition.cases()?;
                let here = cases.iter().position(|case| self.holds(case))?;
                cases.swap(0, here);
                reasons.push(cases);
            }
            Test::Not(inner) => self.explain(inner, reasons)?,
            Test::Both(a, b) | Test::Either(a, b) => {
                let decisive = matches!(test, Test::Either(..));
                for part in [a, b] {
                    let value = self.outcome(part);
                    self.explain(part, reasons)?;
                    if value == decisive {
                        break;
                    }
                }
            }
        }
        Some(())
    }

    fn outcome(&self, test: &Test) -> bool {
        match test {
            Test::Is(condition) => self.holds(condition),
            Test::Not(inner) => !self.outcome(inner),
            Test::Both(a, b) => self.outcome(a) && self.outcome(b),
            Test::Either(a, b) => self.outcome(a) || self.outcome(b),
        }
    }

    fn holds(&self, condition: &Condition) -> bool {
        let param = |name: &str| {
            let (atom, _) = self.space.params().find(|(_, known)| &***known == name)?;
            self.values.get(&atom).copied()
        };
        condition.holds(&self.space, &param)
    }

    // ---- errors -------------------------------------------------------------------------------

    /// Whether a condition has not been needed before.
    pub(crate) fn is_new(&mut self, condition: &Condition) -> bool {
        self.needed.insert(condition.poly().clone())
    }

    /// The next error is one only as long as none of the options holds.
    pub(crate) fn unless(&mut self, options: Option<Vec<Vec<Condition>>>) {
        self.pending = Some(options);
    }

    /// Whether it is known what would prevent the next error.
    pub(crate) fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// An error.
    pub(crate) fn fail(&mut self, diagnostic: Diagnostic) {
        let options = self.pending.take().unwrap_or_else(|| Some(Vec::new()));
        self.push(Event::Fail(options, Box::new(diagnostic)));
    }
}

fn compare(op: Op, a: &Poly, b: &Poly) -> Option<Test> {
    let not = |test| Some(Test::Not(Box::new(test)));
    match op {
        Op::Eq => Condition::equal(a, b).map(Test::Is),
        Op::Ne => not(Test::Is(Condition::equal(a, b)?)),
        Op::Ge => Condition::at_least(a, b).map(Test::Is),
        Op::Le => Condition::at_least(b, a).map(Test::Is),
        Op::Lt => not(Test::Is(Condition::at_least(a, b)?)),
        Op::Gt => not(Test::Is(Condition::at_least(b, a)?)),
        _ => None,
    }
}
