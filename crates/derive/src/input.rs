//! A struct, read and checked.
//!
//! A structure of arrays lives in two worlds, with `Arr` and with `Tensor` at its leaves, so its
//! arrays have to be type parameters. A parameter that occurs in a field stands for arrays; one
//! that occurs only in skipped fields is plain and stays what it is.

use std::collections::HashSet;

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Field, Generics, Ident, Member, Path, Result, Type};
use syn::{TypeParamBound, WherePredicate};

/// A struct for which the implementations can be written.
pub(crate) struct Structure {
    pub(crate) name: Ident,
    pub(crate) generics: Generics,
    pub(crate) fields: Vec<Part>,
    /// The type parameters that stand for arrays.
    pub(crate) arrays: HashSet<Ident>,
    /// Where cotan is: `::cotan` unless the struct says otherwise.
    pub(crate) library: Path,
}

/// A field.
pub(crate) struct Part {
    pub(crate) member: Member,
    /// Its name in paths: without `r#`.
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) kind: PartKind,
}

/// What a field holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartKind {
    /// Arrays, by a type parameter.
    Arrays,
    /// A structure that has no arrays in it, and so is the same in both worlds.
    WithoutArrays,
    /// Something that is not a structure of arrays.
    Skipped,
}

impl Structure {
    pub(crate) fn read(item: &DeriveInput) -> Result<Structure> {
        let data = match &item.data {
            Data::Struct(data) => data,
            Data::Enum(data) => {
                let advice = "`Arrays` can be derived for structs only: the arrays of a function \
                              are the same in every call, those of an enum depend on the variant; \
                              use a struct, with the choice in a field marked `#[arrays(skip)]`";
                return Err(Error::new(data.enum_token.span, advice));
            }
            Data::Union(data) => {
                let advice = "`Arrays` can be derived for structs only";
                return Err(Error::new(data.union_token.span, advice));
            }
        };
        if let Some(lifetime) = item.generics.lifetimes().next() {
            let advice = "a structure of arrays owns its parts and has no lifetimes: use a type \
                          that owns, such as `String` for `&str`";
            return Err(Error::new(lifetime.span(), advice));
        }
        let library = library(item)?;
        let skipped = data.fields.iter().map(is_skipped).collect::<Result<Vec<bool>>>()?;
        let arrays: HashSet<Ident> = item
            .generics
            .type_params()
            .map(|param| &param.ident)
            .filter(|&param| {
                let mut kept = data.fields.iter().zip(&skipped).filter(|(_, skipped)| !**skipped);
                kept.any(|(field, _)| mentions(&field.ty, |ident| ident == param))
            })
            .cloned()
            .collect();

        let mut fields = Vec::with_capacity(data.fields.len());
        for ((field, member), skipped) in data.fields.iter().zip(data.fields.members()).zip(skipped)
        {
            let uses_arrays = mentions(&field.ty, |ident| arrays.contains(ident));
            let kind = match (skipped, uses_arrays) {
                (true, true) => return Err(skipped_arrays(field)),
                (true, false) => PartKind::Skipped,
                (false, true) => PartKind::Arrays,
                (false, false) => PartKind::WithoutArrays,
            };
            if kind != PartKind::Skipped {
                refuse_fixed_arrays(&item.ident, field)?;
            }
            let name = match &member {
                Member::Named(ident) => ident.unraw().to_string(),
                Member::Unnamed(index) => index.index.to_string(),
            };
            fields.push(Part { member, name, ty: field.ty.clone(), kind });
        }
        refuse_bounds(&item.generics, &arrays)?;
        let (name, generics) = (item.ident.clone(), item.generics.clone());
        Ok(Structure { name, generics, fields, arrays, library })
    }
}

/// The path to cotan: `#[arrays(crate = path)]` on the struct.
fn library(item: &DeriveInput) -> Result<Path> {
    let mut library = None;
    for attribute in item.attrs.iter().filter(|attribute| attribute.path().is_ident("arrays")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("skip") {
                return Err(meta.error("`skip` belongs to a field, not to the struct"));
            }
            if !meta.path.is_ident("crate") {
                return Err(meta.error("unknown option: a struct has `#[arrays(crate = path)]`"));
            }
            if library.is_some() {
                return Err(meta.error("`crate` is given twice"));
            }
            library = Some(meta.value()?.call(Path::parse_mod_style)?);
            Ok(())
        })?;
    }
    Ok(library.unwrap_or_else(|| syn::parse_quote!(::cotan)))
}

/// Whether a field has `#[arrays(skip)]`.
fn is_skipped(field: &Field) -> Result<bool> {
    let mut skipped = false;
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("arrays")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("crate") {
                return Err(meta.error("`crate` belongs to the struct, not to a field"));
            }
            if !meta.path.is_ident("skip") {
                return Err(meta.error("unknown option: a field has `#[arrays(skip)]`"));
            }
            skipped = true;
            Ok(())
        })?;
    }
    Ok(skipped)
}

fn skipped_arrays(field: &Field) -> Error {
    let advice = "a skipped field cannot have a type parameter that stands for arrays: it is the \
                  same for `Arr` and for `Tensor`";
    Error::new(field.ty.span(), advice)
}

/// Fields that are `Arr` or `Tensor`, when it is the struct that has to be either.
fn refuse_fixed_arrays(name: &Ident, field: &Field) -> Result<()> {
    if !mentions(&field.ty, |ident| ident == "Arr" || ident == "Tensor") {
        return Ok(());
    }
    let advice = format!(
        "the arrays of a struct are its type parameters, which become `Arr` while a function is \
         staged and `Tensor` when it is called: write `struct {name}<A> {{ .. }}` with `A` for \
         this type, and `{name}<Arr<f64>>` where the struct is used"
    );
    Err(Error::new(field.ty.span(), advice))
}

/// Bounds that would not hold in the other world.
fn refuse_bounds(generics: &Generics, arrays: &HashSet<Ident>) -> Result<()> {
    let inline = generics
        .type_params()
        .filter(|param| arrays.contains(&param.ident))
        .flat_map(|param| &param.bounds);
    let clauses = generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    let in_clauses = clauses
        .filter_map(|predicate| match predicate {
            WherePredicate::Type(predicate) => Some(predicate),
            _ => None,
        })
        .filter(|predicate| mentions(&predicate.bounded_ty, |ident| arrays.contains(ident)))
        .flat_map(|predicate| &predicate.bounds);
    match inline.chain(in_clauses).find(|bound| !is_arrays(bound)) {
        None => Ok(()),
        Some(bound) => {
            let advice = "a type parameter that stands for arrays cannot have bounds other than \
                          `Arrays`: write the bound on the functions that need it";
            Err(Error::new(bound.span(), advice))
        }
    }
}

/// Whether a bound is `Arrays`, by any path.
fn is_arrays(bound: &TypeParamBound) -> bool {
    match bound {
        TypeParamBound::Trait(bound) if bound.maybe.is_none() => {
            bound.path.segments.last().is_some_and(|segment| segment.ident == "Arrays")
        }
        _ => false,
    }
}

/// Whether a type has an identifier in it.
fn mentions(ty: &Type, wanted: impl Fn(&Ident) -> bool) -> bool {
    let mut todo: Vec<TokenStream> = vec![ty.to_token_stream()];
    while let Some(tokens) = todo.pop() {
        for token in tokens {
            match token {
                TokenTree::Ident(ident) if wanted(&ident) => return true,
                TokenTree::Group(group) => todo.push(group.stream()),
                TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }
    false
}
