//! Is every definition of a program all right, whoever may call it?
//!
//! A definition is looked at for all sizes at once (see [`crate::sizes`]): what is wrong for all of
//! them is an error, what is wrong for some is a note with the condition. An integer that must be
//! static counts as a size. Where that leads nowhere, because conditions are not linear or recursion
//! depends on sizes, a definition is tried at a few samples, and is at fault only if it fails at all
//! of them. One that takes functions is checked where it is called. Recursion that no argument ends
//! is found in all of them.

use cotan_array::Dtype;
use cotan_ir::scalar::Scalar;
use cotan_ir::{Limits, Span};

use crate::ast::{Item, Name};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::elab::Elab;
use crate::elab::types::{Signature, Spec};
use crate::endless::endless;
use crate::instantiate::{ArgSpec, Instance, Request, instantiate};
use crate::load::{DefId, Modules};
use crate::sizes::{
    Condition, Explored, Poly, Scale, Space, System, Trace, explore, names, rename,
};

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

/// Where nothing else helps, all combinations of sizes below this are tried, unless they are too many.
const SMALL: usize = 7;
const MAX_TRIALS: usize = 400;

/// How many steps an elaboration at sizes in general position may take.
const MAX_STEPS: usize = 1 << 17;

/// Checks every definition of every file, and returns what is wrong or looks wrong, and what sizes
/// have to satisfy.
pub fn check(modules: &Modules, limits: &Limits) -> Diagnostics {
    check_at(modules, &[], limits)
}

/// Checks every definition as [`check`] does, some of its sizes or static integers being fixed.
pub fn check_at(modules: &Modules, sizes: &[(&str, usize)], limits: &Limits) -> Diagnostics {
    let mut all = Diagnostics::new();
    for (file, content) in modules.files.iter().enumerate() {
        let endless = endless(&content.module);
        for item in 0..content.module.items.len() {
            let checked = Definition { modules, id: DefId { file, item }, sizes, limits };
            all.append(checked.check_item(endless.contains(&item)));
        }
    }
    all.sort();
    all
}

/// One declaration of a program, to be looked at by itself: for editors, which look again at what has
/// changed.
///
/// ```
/// use cotan_syntax::{Declaration, load_text};
///
/// let modules = load_text("f.ct", "def f(x: [n]f64) = let y = x[:, None] * x in sum(y)")?;
/// let f = Declaration::all(&modules, 0).next().expect("there is one");
/// assert!(f.check(&Default::default()).is_empty());
/// let types = f.types(&Default::default());
/// assert!(types.iter().any(|(place, ty)| modules.sources().slice(*place) == "y" && ty == "[n, n]f64"));
/// # Ok::<(), cotan_syntax::Failure>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Declaration<'m> {
    modules: &'m Modules,
    id: DefId,
    endless: bool,
}

impl<'m> Declaration<'m> {
    /// The declarations of a file of a program, in order; file 0 is the entry file.
    pub fn all(modules: &'m Modules, file: usize) -> impl Iterator<Item = Declaration<'m>> {
        let module = modules.files.get(file).map(|file| &file.module);
        let endless = module.map(endless).unwrap_or_default();
        (0..module.map_or(0, |module| module.items.len())).map(move |item| Declaration {
            modules,
            id: DefId { file, item },
            endless: endless.contains(&item),
        })
    }

    /// What is wrong or looks wrong with it, and what sizes have to satisfy.
    pub fn check(&self, limits: &Limits) -> Diagnostics {
        self.definition(limits).check_item(self.endless)
    }

    /// The types of its expressions and of the names that it binds, by place, the sizes being
    /// expressions of its size parameters. Nothing for a function that takes functions.
    pub fn types(&self, limits: &Limits) -> Vec<(Span, String)> {
        self.definition(limits).types()
    }

    fn definition<'a>(&self, limits: &'a Limits) -> Definition<'a>
    where
        'm: 'a,
    {
        Definition { modules: self.modules, id: self.id, sizes: &[], limits }
    }
}

/// A function of the entry file at the first sample of sizes, and of static values if need be, at
/// which it is without errors: one of those that [`check`] tries, or one that satisfies the
/// conditions that it finds. `None` if there is none, or if it takes functions.
pub fn sample(modules: &Modules, function: &str, limits: &Limits) -> Option<Instance> {
    let id = *modules.files.first()?.defs.get(function)?;
    let definition = Definition { modules, id, sizes: &[], limits };
    let signature = Elab::new(modules, *limits).signature(id).ok()?;
    if signature.params.iter().any(|(_, spec)| spec.has_function()) {
        return None;
    }
    let make = |trial: Trial| {
        let sizes: Vec<(&str, usize)> = trial.sizes.iter().map(|(name, k)| (&**name, *k)).collect();
        instantiate(modules, function, &trial.args, &sizes, limits).ok()
    };
    let tried = trials(&signature).find_map(make);
    tried.or_else(|| {
        let statics = Statics::all(&signature);
        statics.into_iter().find_map(|statics| {
            let explored = definition.explore(&signature, statics);
            let (system, _) = explored.tree.good()?;
            let values = system.sample(&explored.space, 1, Scale::Small)?;
            let value = |name: &str| {
                let (atom, _) = explored.space.params().find(|(_, known)| &***known == name)?;
                values.get(&atom).and_then(|v| i64::try_from(*v).ok())
            };
            make(Trial::at(&signature, statics, &value))
        })
    })
}

/// For which sizes a function of the entry file is all right, without static values.
#[cfg(test)]
pub(crate) fn explored(modules: &Modules, function: &str) -> Option<Explored> {
    let id = *modules.files.first()?.defs.get(function)?;
    let limits = Limits::default();
    let signature = Elab::new(modules, limits).signature(id).ok()?;
    let definition = Definition { modules, id, sizes: &[], limits: &limits };
    Some(definition.explore(&signature, Statics::None))
}

/// Which parameters are static: none, or all that can be, truth values being this one.
#[derive(Clone, Copy)]
enum Statics {
    None,
    All(bool),
}

impl Statics {
    /// Those to try, in order.
    fn all(signature: &Signature) -> Vec<Statics> {
        let has = |wanted: Dtype| {
            signature.params.iter().any(|(_, spec)| static_type(spec) == Some(wanted))
        };
        let mut all = vec![Statics::None];
        if has(Dtype::I64) || has(Dtype::Bool) {
            all.push(Statics::All(true));
        }
        if has(Dtype::Bool) {
            all.push(Statics::All(false));
        }
        all
    }
}

/// A definition to check.
struct Definition<'a> {
    modules: &'a Modules,
    id: DefId,
    sizes: &'a [(&'a str, usize)],
    limits: &'a Limits,
}

impl Definition<'_> {
    fn check_item(&self, endless: bool) -> Diagnostics {
        let DefId { file, item } = self.id;
        match self.modules.files.get(file).and_then(|file| file.module.items.get(item)) {
            Some(Item::Def(_)) => self.check(endless),
            Some(Item::Type(def)) if def.sizes.is_empty() => {
                let mut elab = Elab::new(self.modules, *self.limits);
                let _reported = elab.spec(file, def.ty);
                elab.finish().1
            }
            // The type behind an alias with sizes is checked where it is used.
            Some(Item::Type(_) | Item::Import(_)) | None => Diagnostics::new(),
        }
    }

    fn name(&self) -> &str {
        self.modules.def(self.id).map_or("", |def| &def.name.name)
    }

    fn check(&self, endless: bool) -> Diagnostics {
        let mut elab = Elab::new(self.modules, *self.limits);
        let Ok(signature) = elab.signature(self.id) else { return elab.finish().1 };
        if signature.params.iter().any(|(_, spec)| spec.has_function()) {
            let mut found = Diagnostics::new();
            if let (true, Some(def)) = (endless, self.modules.def(self.id)) {
                let message = format!("the calls of `{}` never end", def.name.name);
                let hint = "recursion must end by an `if` on a static value";
                let diagnostic = Diagnostic::new(Code::RecursionTooDeep, def.name.span, message);
                found.push(diagnostic.hint(hint));
            }
            return found;
        }
        let mut wrong = None;
        for statics in Statics::all(&signature) {
            let explored = self.explore(&signature, statics);
            if let Some((_, warnings)) = explored.tree.good() {
                let mut found = Diagnostics::new();
                let notes = explored.notes(self.name());
                warnings.iter().cloned().chain(notes).for_each(|message| found.push(message));
                return found;
            }
            if explored.tree.is_bad() {
                let errors = explored.tree.errors();
                let needs_static = errors.iter().any(|error| needs_static(error.code));
                if !needs_static {
                    wrong = Some(errors.to_vec());
                    break;
                }
            }
        }
        let mut first: Option<Diagnostics> = None;
        let mut steps = 0;
        // Few are enough to confirm what is wrong for all sizes.
        let more = small_sizes(&signature).take_while(|_| wrong.is_none());
        for trial in trials(&signature).chain(more).filter(|trial| trial.has(self.sizes)) {
            let (found, took) = trial.run(self.modules, self.id, self.limits);
            if !found.has_errors() {
                return found;
            }
            steps += took;
            first.get_or_insert(found);
            if steps > MAX_STEPS {
                break;
            }
        }
        if let Some(errors) = wrong.filter(|errors| !errors.is_empty()) {
            let mut found = Diagnostics::new();
            errors.into_iter().for_each(|error| found.push(error));
            return found;
        }
        let first = first.unwrap_or_default();
        if endless || !signature.params.iter().any(|(_, spec)| static_type(spec).is_some()) {
            return first;
        }
        // Which static values it is meant for is not ours to guess: then it is checked where it is
        // called.
        match first.iter().any(|diagnostic| needs_static(diagnostic.code)) {
            true => Diagnostics::new(),
            false => first,
        }
    }

    /// The types of its expressions and of the names that it binds, by place: their sizes are
    /// expressions of its size parameters. Nothing if it takes functions.
    fn types(&self) -> Vec<(Span, String)> {
        let mut elab = Elab::new(self.modules, *self.limits);
        let Ok(signature) = elab.signature(self.id) else { return Vec::new() };
        let Some(def) = self.modules.def(self.id) else { return Vec::new() };
        if signature.params.iter().any(|(_, spec)| spec.has_function()) {
            return Vec::new();
        }
        let limits = Limits { max_nodes: self.limits.max_nodes.min(MAX_STEPS), ..*self.limits };
        let mut best: Vec<(Span, String)> = Vec::new();
        for statics in Statics::all(&signature) {
            // Where it is all right if that is anywhere, otherwise in general position.
            let explored = self.explore(&signature, statics);
            let (space, system) = match explored.tree.good() {
                Some((system, _)) => (explored.space.clone(), system.clone()),
                None => self.general(&signature, statics),
            };
            let good = explored.tree.good().is_some();
            let Some(values) = system.sample(&space, 1, Scale::Generic) else { continue };
            let trace = Trace::new(space, system, values);
            let value = |name: &str| {
                let (atom, _) = trace.space.params().find(|(_, known)| &***known == name)?;
                trace.value(atom)
            };
            let trial = Trial::at(&signature, statics, &value);
            let mut elab = Elab::traced(self.modules, limits, trace).watching(def.span);
            let _reported = trial.make(&mut elab, self.id);
            let (Some(seen), Some(trace)) = elab.into_seen() else { continue };
            let names = names(&trace);
            let named = |(span, text): (Span, String)| (span, rename(&text, &names));
            let types: Vec<(Span, String)> = seen.types.into_iter().map(named).collect();
            if types.len() > best.len() {
                best = types;
            }
            if good {
                break;
            }
        }
        best.sort_by_key(|(span, _)| *span);
        best
    }

    /// All sizes and static integers that there can be.
    fn general(&self, signature: &Signature, statics: Statics) -> (Space, System) {
        let (mut space, mut system) = (Space::default(), System::default());
        let params = signature.params.iter().filter_map(|(name, spec)| match statics {
            Statics::All(_) if static_type(spec) == Some(Dtype::I64) => Some(&name.name),
            _ => None,
        });
        for name in signature.sizes.iter().map(|size| &size.name).chain(params) {
            let atom = Poly::atom(space.param(name));
            let fixed = self.sizes.iter().find(|(given, _)| *given == &**name);
            if let Some(equal) =
                fixed.and_then(|(_, k)| Condition::equal(&atom, &Poly::constant(*k as i128)))
            {
                system.assume(&equal, &mut space);
            }
            system.assume(&Condition::NotNegative(atom), &mut space);
        }
        // There are arguments, so their sizes are not negative.
        for (_, spec) in &signature.params {
            let mut sizes = Vec::new();
            spec.for_each_size(&mut |size| sizes.push(size.clone()));
            for size in sizes {
                let atoms: Vec<(Name, Poly)> =
                    space.params().map(|(atom, name)| (name.clone(), Poly::atom(atom))).collect();
                let find = |name: &str| {
                    atoms.iter().find(|(known, _)| &**known == name).map(|(_, p)| p.clone())
                };
                if let Some(p) = size.poly(find, &mut space) {
                    system.assume(&Condition::NotNegative(p), &mut space);
                }
            }
        }
        (space, system)
    }

    /// For which sizes it is all right.
    fn explore(&self, signature: &Signature, statics: Statics) -> Explored {
        let (space, system) = self.general(signature, statics);
        // Recursion on a size in general position may take long.
        let limits = match space.is_empty() {
            true => *self.limits,
            false => Limits { max_nodes: self.limits.max_nodes.min(MAX_STEPS), ..*self.limits },
        };
        explore(space, system, &mut |trace| {
            let value = |name: &str| {
                let (atom, _) = trace.space.params().find(|(_, known)| &***known == name)?;
                trace.value(atom)
            };
            let trial = Trial::at(signature, statics, &value);
            let mut elab = Elab::traced(self.modules, limits, trace);
            let _reported = trial.make(&mut elab, self.id);
            elab.into_trace()
        })
    }
}

/// Whether an error says that a value should have been static.
fn needs_static(code: Code) -> bool {
    matches!(code, Code::NotStatic | Code::SizeUnknown | Code::RecursionTooDeep)
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

/// All combinations of small sizes, as long as they are not too many.
fn small_sizes(signature: &Signature) -> impl Iterator<Item = Trial> {
    let count = signature.sizes.len();
    let all = u32::try_from(count).ok().and_then(|count| SMALL.checked_pow(count));
    let all = all.filter(|all| count > 0 && *all <= MAX_TRIALS).unwrap_or(0);
    (0..all).map(move |at| {
        let digit = |k: usize| at / SMALL.pow(k as u32) % SMALL;
        let sizes = signature.sizes.iter().enumerate();
        let sizes = sizes.map(|(k, size)| (size.name.clone(), digit(k))).collect();
        Trial { args: Vec::new(), sizes }
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
    /// A trial at these values of sizes and static integers.
    fn at(signature: &Signature, statics: Statics, value: &dyn Fn(&str) -> Option<i64>) -> Trial {
        let size = |name: &Name| {
            let value = value(name).and_then(|v| usize::try_from(v).ok());
            (name.clone(), value.unwrap_or(0))
        };
        let arg = |name: &Name, spec: &Spec, flag: bool| match static_type(spec) {
            Some(Dtype::Bool) => ArgSpec::Static(Scalar::Bool(flag)),
            Some(_) => ArgSpec::Static(Scalar::I64(value(name).unwrap_or(0))),
            None => ArgSpec::Declared,
        };
        let args = match statics {
            Statics::None => Vec::new(),
            Statics::All(flag) => {
                signature.params.iter().map(|(name, spec)| arg(&name.name, spec, flag)).collect()
            }
        };
        Trial { args, sizes: signature.sizes.iter().map(|id| size(&id.name)).collect() }
    }

    /// Whether its sizes are those that are given.
    fn has(&self, sizes: &[(&str, usize)]) -> bool {
        let fits = |(name, k): &(&str, usize)| {
            self.sizes.iter().all(|(known, own)| &**known != *name || own == k)
        };
        sizes.iter().all(fits)
    }

    fn make(&self, elab: &mut Elab<'_>, id: DefId) -> crate::elab::R<()> {
        let sizes: Vec<(&str, usize)> = self.sizes.iter().map(|(name, k)| (&**name, *k)).collect();
        let name = elab.modules.def(id).map_or("", |def| &def.name.name);
        Request { function: name, args: &self.args, sizes: &sizes }.make(elab, id).map(drop)
    }

    /// What is found when a definition is made, and the steps it took; errors say at which sizes.
    fn run(&self, modules: &Modules, id: DefId, limits: &Limits) -> (Diagnostics, usize) {
        let mut elab = Elab::new(modules, *limits);
        let _reported = self.make(&mut elab, id);
        let steps = elab.steps();
        let found = elab.finish().1;
        if self.sizes.is_empty() {
            return (found, steps);
        }
        let name = modules.def(id).map_or("", |def| &def.name.name);
        let shown: Vec<String> =
            self.sizes.iter().map(|(name, k)| format!("{name} = {k}")).collect();
        let note = format!("`{name}` was checked with {}", shown.join(", "));
        let mut noted = Diagnostics::new();
        for diagnostic in &found {
            noted.push(diagnostic.clone().note(note.clone()));
        }
        (noted, steps)
    }
}
