//! Where nodes come from, all of it, on request.
//!
//! A node has one place in the source, which every pass hands on. While work is [`record`]ed, a place
//! may stand for a set: all places that a node comes from, with the calls around them, and the events
//! that it went through, such as a rule that fired. Sets are interned, and a set is a [`Span`] like
//! any other, so that passes hand them on without knowing of it. Otherwise nothing is kept and
//! nothing costs anything.
//!
//! A set has at most [`Record::MOST`] members; places come before events when it is cut. It may name a
//! place too many: that of a node which a rule made on trial and another place had made as well.

use std::cell::{Cell, RefCell};

use rustc_hash::FxHashMap;

use crate::span::{FileId, Span};

/// The file of spans that stand for sets, and of those that stand for events.
const SET: FileId = FileId(u32::MAX - 1);
const EVENT: FileId = FileId(u32::MAX - 2);

/// Something that happened to a term on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What was at work: see [`stage`].
    pub stage: &'static str,
    /// The rule, or what else was done.
    pub rule: &'static str,
    /// Where the term came from until then.
    pub from: Span,
    /// The term before and after, in short.
    pub before: String,
    /// The term after, in short.
    pub after: String,
}

/// What was recorded: what spans of programs made meanwhile stand for.
#[derive(Clone, Debug, Default)]
pub struct Record {
    sets: Vec<Box<[Span]>>,
    events: Vec<Event>,
    numbers: FxHashMap<Box<[Span]>, u32>,
    joined: FxHashMap<(Span, Span), Span>,
    stage: &'static str,
    /// The event of each pass of each stage.
    passes: Vec<(Pass, &'static str, usize)>,
}

thread_local! {
    static RECORDING: Cell<bool> = const { Cell::new(false) };
    static CURRENT: RefCell<Option<Record>> = const { RefCell::new(None) };
}

/// Does work on this thread and records where all nodes come from that it makes. A record within a
/// record takes the place of the outer one meanwhile.
pub fn record<T>(work: impl FnOnce() -> T) -> (T, Record) {
    /// Puts the outer record back, also when the work panics.
    struct Guard(bool, Option<Record>);
    impl Drop for Guard {
        fn drop(&mut self) {
            RECORDING.set(self.0);
            CURRENT.set(self.1.take());
        }
    }
    let guard = Guard(RECORDING.replace(true), CURRENT.replace(Some(Record::default())));
    let result = work();
    let record = CURRENT.take().unwrap_or_default();
    drop(guard);
    (result, record)
}

/// Whether the present work is recorded.
#[inline]
pub fn is_recording() -> bool {
    RECORDING.get()
}

/// Names what is done from now on, for the events of a record.
pub fn stage(name: &'static str) {
    with(|record| record.stage = name);
}

/// Both places; without a record the first, or the second where that is none.
pub fn join(a: Span, b: Span) -> Span {
    if a == b || b.is_none() {
        return a;
    }
    if a.is_none() {
        return b;
    }
    with(|record| record.join(a, b)).unwrap_or(a)
}

/// The place with an event added; the texts are made only if there is a record.
pub fn happened(from: Span, rule: &'static str, texts: impl FnOnce() -> (String, String)) -> Span {
    if !is_recording() {
        return from;
    }
    let (before, after) = texts();
    let event = with(|record| {
        record.events.push(Event { stage: record.stage, rule, from, before, after });
        Span::new(EVENT, record.events.len() as u32 - 1, 0)
    });
    join(from, event.unwrap_or(Span::NONE))
}

/// What made a term of a derivative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// The forward pass: the values.
    Forward,
    /// The reverse pass: the cotangents.
    Reverse,
}

impl Pass {
    fn name(self) -> &'static str {
        match self {
            Pass::Forward => "forward pass",
            Pass::Reverse => "reverse pass",
        }
    }
}

/// The place of what a pass makes for something that comes from `from`.
pub fn made_by(pass: Pass, from: Span) -> Span {
    let event = with(|record| {
        let known = record.passes.iter().find(|(p, stage, _)| *p == pass && *stage == record.stage);
        let n = known.map(|(.., n)| *n).unwrap_or_else(|| {
            let (n, stage) = (record.events.len(), record.stage);
            let [before, after] = [String::new(), String::new()];
            let (rule, from) = (pass.name(), Span::NONE);
            record.events.push(Event { stage, rule, from, before, after });
            record.passes.push((pass, stage, n));
            n
        });
        Span::new(EVENT, n as u32, 0)
    });
    event.map_or(from, |event| join(from, event))
}

/// The first place that a span stands for, while its record is made.
pub(crate) fn first(span: Span) -> Span {
    match span.file {
        SET | EVENT => with(|r| r.places(span).first().copied()).flatten().unwrap_or(Span::NONE),
        _ => span,
    }
}

fn with<T>(f: impl FnOnce(&mut Record) -> T) -> Option<T> {
    if !is_recording() {
        return None;
    }
    CURRENT.with_borrow_mut(|current| current.as_mut().map(f))
}

impl Record {
    /// So many places and events a node has at most.
    pub const MOST: usize = 64;

    /// The places in the source that a span stands for, in their order.
    pub fn places(&self, span: Span) -> Vec<Span> {
        self.members(&span).iter().copied().filter(|s| s.file != EVENT && !s.is_none()).collect()
    }

    /// The events that what comes from there went through, in their order.
    pub fn events(&self, span: Span) -> Vec<usize> {
        let events = self.members(&span).iter().filter(|s| s.file == EVENT);
        events.map(|s| s.start as usize).filter(|&n| n < self.events.len()).collect()
    }

    /// Whether a span stands for as much as a set may hold, and so perhaps for more.
    pub fn is_full(&self, span: Span) -> bool {
        self.members(&span).len() >= Record::MOST
    }

    /// The pass that made what has this span; what both need is of the forward pass.
    pub fn pass(&self, span: Span) -> Option<Pass> {
        let made = |pass: Pass| {
            let mut marks = self.passes.iter().filter(|(p, ..)| *p == pass).map(|(.., n)| *n);
            let members = self.members(&span);
            marks.any(|n| members.contains(&Span::new(EVENT, n as u32, 0)))
        };
        [Pass::Forward, Pass::Reverse].into_iter().find(|&pass| made(pass))
    }

    /// All events, in their order.
    pub fn all_events(&self) -> &[Event] {
        &self.events
    }

    fn members<'a>(&'a self, span: &'a Span) -> &'a [Span] {
        match (span.file, self.sets.get(span.start as usize)) {
            (SET, Some(set)) => set,
            (SET, None) => &[],
            _ => std::slice::from_ref(span),
        }
    }

    fn join(&mut self, a: Span, b: Span) -> Span {
        if let Some(&known) = self.joined.get(&(a, b)) {
            return known;
        }
        let mut all: Vec<Span> = self.members(&a).to_vec();
        all.extend_from_slice(self.members(&b));
        all.sort_unstable();
        all.dedup();
        all.truncate(Record::MOST);
        let all: Box<[Span]> = all.into();
        let next = self.sets.len() as u32;
        let number = match self.numbers.get(&all) {
            Some(&number) => number,
            None => {
                self.sets.push(all.clone());
                self.numbers.insert(all, next);
                next
            }
        };
        let set = Span::new(SET, number, 0);
        self.joined.insert((a, b), set);
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::Builder;
    use crate::scalar::Op;
    use crate::term::Type;
    use cotan_array::Dtype;

    fn at(start: u32) -> Span {
        Span::new(FileId(0), start, start + 1)
    }

    #[test]
    fn equal_nodes_have_the_places_of_both() {
        let (span, record) = record(|| {
            let mut b = Builder::new();
            let x = b.input("x", Type::scalar(Dtype::F64)).unwrap();
            b.set_span(at(7));
            let sine = b.op(Op::Sin, &[x]).unwrap();
            b.set_span(at(3));
            assert_eq!(b.op(Op::Sin, &[x]).unwrap(), sine);
            b.span(sine)
        });
        assert_eq!(record.places(span), [at(3), at(7)]);
        assert!(!is_recording());
        // Without a record a node stays where it was first made.
        assert_eq!(join(at(1), at(2)), at(1));
    }

    #[test]
    fn events_are_members_and_sets_are_bounded() {
        let ((span, many), record) = record(|| {
            stage("optimised");
            let text = |s: &str| s.to_owned();
            let span = happened(at(1), "mul/one", || (text("x * 1"), text("x")));
            let marked = made_by(Pass::Reverse, join(span, at(2)));
            assert_eq!(made_by(Pass::Reverse, marked), marked);
            (marked, (0..1000).fold(marked, |all, n| join(all, at(n))))
        });
        assert_eq!(record.places(span), [at(1), at(2)]);
        assert_eq!(record.events(span), [0, 1]);
        assert_eq!(record.all_events()[0].rule, "mul/one");
        assert_eq!(record.pass(span), Some(Pass::Reverse));
        assert!(!record.is_full(span) && record.is_full(many));
        assert_eq!(record.places(many).len(), Record::MOST);
    }
}
