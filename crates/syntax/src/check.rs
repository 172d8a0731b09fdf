//! Is every definition of a program all right, whoever may call it?
//!
//! A definition with size parameters is tried at a few samples of sizes, and is at fault only if it
//! fails at all of them. One that needs static arguments is tried at static samples. One that takes
//! functions is checked where it is called. Recursion that no argument ends is found in all of them.

use cotan_array::Dtype;
use cotan_ir::Limits;
use cotan_ir::scalar::Scalar;

use crate::ast::{Item, Name};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::elab::Elab;
use crate::elab::types::{Signature, Spec};
use crate::endless::endless;
use crate::instantiate::{ArgSpec, Instance, Request, instantiate};
use crate::load::{DefId, Modules};

/// How sizes are chosen for a trial: the size of the parameter at each place.
const SAMPLES: [fn(usize) -> usize; 5] = [
    |k| [3, 4, 5, 7, 11, 13].get(k).copied().unwrap_or(k + 10),
    |k| 2 * (k + 1),
    |_| 4,
    |k| 1 << (k % 8 + 1),
    |_| 1,
];

/// The values tried for a parameter that must be static.
const STATIC: [i64; 3] = [2, 1, 0];

/// Checks every definition of every file, and returns what is wrong or looks wrong.
pub fn check(modules: &Modules, limits: &Limits) -> Diagnostics {
    let mut all = Diagnostics::new();
    for (file, content) in modules.files.iter().enumerate() {
        let endless = endless(&content.module);
        for (item, declaration) in content.module.items.iter().enumerate() {
            let id = DefId { file, item };
            match declaration {
                Item::Def(_) => {
                    all.append(check_def(modules, id, endless.contains(&item), limits));
                }
                Item::Type(def) if def.sizes.is_empty() => {
                    let mut elab = Elab::new(modules, *limits);
                    let _reported = elab.spec(file, def.ty);
                    all.append(elab.finish().1);
                }
                // The type behind an alias with sizes is checked where it is used.
                Item::Type(_) | Item::Import(_) => {}
            }
        }
    }
    all.sort();
    all
}

fn check_def(modules: &Modules, id: DefId, endless: bool, limits: &Limits) -> Diagnostics {
    let mut elab = Elab::new(modules, *limits);
    let Ok(signature) = elab.signature(id) else { return elab.finish().1 };
    if signature.params.iter().any(|(_, spec)| spec.has_function()) {
        let mut found = Diagnostics::new();
        if let (true, Some(def)) = (endless, modules.def(id)) {
            let message = format!("the calls of `{}` never end", def.name.name);
            let hint = "recursion must end by an `if` on a static value";
            found.push(Diagnostic::new(Code::RecursionTooDeep, def.name.span, message).hint(hint));
        }
        return found;
    }
    let mut first: Option<Diagnostics> = None;
    for trial in trials(&signature) {
        let found = trial.run(modules, id, limits);
        if !found.has_errors() {
            return found;
        }
        first.get_or_insert(found);
    }
    let first = first.unwrap_or_default();
    if endless || !signature.params.iter().any(|(_, spec)| static_type(spec).is_some()) {
        return first;
    }
    // Which static values it is meant for is not ours to guess: then it is checked where it is called.
    let needs_static = first
        .iter()
        .any(|d| matches!(d.code, Code::NotStatic | Code::SizeUnknown | Code::RecursionTooDeep));
    if needs_static { Diagnostics::new() } else { first }
}

/// A function of the entry file at the first sample of sizes, and of static values if need be, at
/// which it is without errors: that of [`check`]. `None` if there is none, or if it takes functions.
pub fn sample(modules: &Modules, function: &str, limits: &Limits) -> Option<Instance> {
    let id = *modules.files.first()?.defs.get(function)?;
    let signature = Elab::new(modules, *limits).signature(id).ok()?;
    if signature.params.iter().any(|(_, spec)| spec.has_function()) {
        return None;
    }
    trials(&signature).find_map(|trial| {
        let sizes: Vec<(&str, usize)> = trial.sizes.iter().map(|(name, k)| (&**name, *k)).collect();
        instantiate(modules, function, &trial.args, &sizes, limits).ok()
    })
}

/// Arguments and sizes to try a definition at.
struct Trial {
    args: Vec<ArgSpec>,
    sizes: Vec<(Name, usize)>,
}

/// What to try a definition at: samples of sizes, then the same with static values.
fn trials(signature: &Signature) -> impl Iterator<Item = Trial> {
    let samples = if signature.sizes.is_empty() { &SAMPLES[..1] } else { &SAMPLES };
    let can_be_static = signature.params.iter().any(|(_, spec)| static_type(spec).is_some());
    let values = STATIC.iter().filter(move |_| can_be_static).map(|&value| Some(value));
    std::iter::once(None).chain(values).flat_map(move |value| {
        samples.iter().map(move |sample| {
            let arg = |spec: &Spec, value: i64| match static_type(spec) {
                Some(Dtype::Bool) => ArgSpec::Static(Scalar::Bool(value != 0)),
                Some(_) => ArgSpec::Static(Scalar::I64(value)),
                None => ArgSpec::Declared,
            };
            let args = match value {
                Some(value) => signature.params.iter().map(|(_, spec)| arg(spec, value)).collect(),
                None => Vec::new(),
            };
            let sizes = signature.sizes.iter().enumerate();
            let sizes = sizes.map(|(k, size)| (size.name.clone(), sample(k))).collect();
            Trial { args, sizes }
        })
    })
}

/// The element type of a parameter that may have to be static.
fn static_type(spec: &Spec) -> Option<Dtype> {
    match spec {
        Spec::Array { sizes, dtype: dtype @ (Dtype::I64 | Dtype::Bool), .. }
            if sizes.is_empty() =>
        {
            Some(*dtype)
        }
        Spec::Array { .. } | Spec::Tuple(..) | Spec::Record(..) | Spec::Function { .. } => None,
    }
}

impl Trial {
    /// What is found when a definition is made; errors say at which sizes.
    fn run(&self, modules: &Modules, id: DefId, limits: &Limits) -> Diagnostics {
        let sizes: Vec<(&str, usize)> = self.sizes.iter().map(|(name, k)| (&**name, *k)).collect();
        let name = modules.def(id).map_or("", |def| &def.name.name);
        let mut elab = Elab::new(modules, *limits);
        let request = Request { function: name, args: &self.args, sizes: &sizes };
        let _reported = request.make(&mut elab, id);
        let found = elab.finish().1;
        if sizes.is_empty() {
            return found;
        }
        let shown: Vec<String> = sizes.iter().map(|(name, k)| format!("{name} = {k}")).collect();
        let note = format!("`{name}` was checked with {}", shown.join(", "));
        let mut noted = Diagnostics::new();
        for diagnostic in &found {
            noted.push(diagnostic.clone().note(note.clone()));
        }
        noted
    }
}
