//! What names mean at a point of a function body.

use std::hash::BuildHasher;

use cotan_ir::TermId;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::FxBuildHasher;

use super::value::Value;
use crate::ast::Name;

/// The variables in scope of one call: a stack of bindings, and a table of the innermost one of each
/// name.
///
/// A lookup costs the same under a million bindings as under one.
#[derive(Debug, Default)]
pub(crate) struct Env {
    bindings: Vec<Binding>,
    /// Values that are not terms, in the order of their bindings.
    others: Vec<Value>,
    /// Positions in `bindings`, found by name.
    innermost: HashTable<u32>,
}

#[derive(Debug)]
struct Binding {
    name: Name,
    bound: Bound,
    /// The binding of the same name that this one hides.
    hidden: Option<u32>,
}

/// What a name means. Long functions have many names, of terms most often.
#[derive(Clone, Copy, Debug)]
enum Bound {
    Term(TermId),
    /// A position in [`Env::others`].
    Other(u32),
}

/// A point to which [`Env::leave`] goes back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark(usize);

fn hash(name: &str) -> u64 {
    FxBuildHasher.hash_one(name)
}

impl Env {
    /// What a name means.
    pub(crate) fn get(&self, name: &str) -> Option<Value> {
        let is_it = |&k: &u32| *self.bindings[k as usize].name == *name;
        let &k = self.innermost.find(hash(name), is_it)?;
        match self.bindings[k as usize].bound {
            Bound::Term(t) => Some(Value::Term(t)),
            Bound::Other(n) => self.others.get(n as usize).cloned(),
        }
    }

    /// Gives a name a meaning until the scope is left.
    pub(crate) fn bind(&mut self, name: Name, value: Value) {
        let bound = match value {
            Value::Term(t) => Bound::Term(t),
            other => {
                self.others.push(other);
                Bound::Other((self.others.len() - 1) as u32)
            }
        };
        let (bindings, next) = (&self.bindings, self.bindings.len() as u32);
        let is_it = |&k: &u32| bindings[k as usize].name == name;
        let rehash = |&k: &u32| hash(&bindings[k as usize].name);
        let hidden = match self.innermost.entry(hash(&name), is_it, rehash) {
            Entry::Occupied(mut found) => Some(std::mem::replace(found.get_mut(), next)),
            Entry::Vacant(free) => {
                free.insert(next);
                None
            }
        };
        self.bindings.push(Binding { name, bound, hidden });
    }

    /// The beginning of a scope.
    pub(crate) fn enter(&self) -> Mark {
        Mark(self.bindings.len())
    }

    /// The end of the scope that began at the mark.
    pub(crate) fn leave(&mut self, mark: Mark) {
        while self.bindings.len() > mark.0
            && let Some(Binding { name, bound, hidden }) = self.bindings.pop()
        {
            if let Bound::Other(n) = bound {
                self.others.truncate(n as usize);
            }
            let last = self.bindings.len() as u32;
            if let Ok(mut found) = self.innermost.find_entry(hash(&name), |&k| k == last) {
                match hidden {
                    Some(hidden) => *found.get_mut() = hidden,
                    None => drop(found.remove()),
                }
            }
        }
    }

    /// All names, for suggestions.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.innermost.iter().map(|&k| &*self.bindings[k as usize].name)
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
