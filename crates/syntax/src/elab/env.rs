//! What names mean at a point of a function body.

use cotan_ir::TermId;
use rustc_hash::FxHashMap;

use super::value::Value;
use crate::ast::Name;

/// The variables in scope of one call, in one hash table with a log of what it had before.
///
/// A lookup costs the same under a million bindings as under one.
#[derive(Debug, Default)]
pub(crate) struct Env {
    now: FxHashMap<Name, Bound>,
    log: Vec<(Name, Option<Box<Bound>>)>,
}

/// What a name means. Long functions have many names, of terms most often.
#[derive(Debug)]
enum Bound {
    Term(TermId),
    Other(Box<Value>),
}

impl Bound {
    fn value(&self) -> Value {
        match self {
            Bound::Term(t) => Value::Term(*t),
            Bound::Other(value) => (**value).clone(),
        }
    }
}

/// A point to which [`Env::leave`] goes back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark(usize);

impl Env {
    /// What a name means.
    pub(crate) fn get(&self, name: &str) -> Option<Value> {
        self.now.get(name).map(Bound::value)
    }

    /// Gives a name a meaning until the scope is left.
    pub(crate) fn bind(&mut self, name: Name, value: Value) {
        let bound = match value {
            Value::Term(t) => Bound::Term(t),
            other => Bound::Other(Box::new(other)),
        };
        let before = self.now.insert(name.clone(), bound);
        self.log.push((name, before.map(Box::new)));
    }

    /// The beginning of a scope.
    pub(crate) fn enter(&self) -> Mark {
        Mark(self.log.len())
    }

    /// The end of the scope that began at the mark.
    pub(crate) fn leave(&mut self, mark: Mark) {
        while self.log.len() > mark.0 {
            match self.log.pop() {
                Some((name, Some(before))) => drop(self.now.insert(name, *before)),
                Some((name, None)) => drop(self.now.remove(&name)),
                None => return,
            }
        }
    }

    /// All names, for suggestions.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.now.keys().map(|name| &**name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaving_a_scope_restores_what_was_shadowed() {
        let mut env = Env::default();
        env.bind("x".into(), Value::int(1));
        let mark = env.enter();
        env.bind("x".into(), Value::int(2));
        env.bind("x".into(), Value::int(3));
        env.bind("y".into(), Value::int(4));
        assert_eq!(env.get("x").and_then(|x| x.known_int()), Some(3));
        env.leave(mark);
        assert_eq!(env.get("x").and_then(|x| x.known_int()), Some(1));
        assert!(env.get("y").is_none());
    }
}
