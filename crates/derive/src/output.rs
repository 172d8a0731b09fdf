//! The implementations for a struct.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{GenericParam, Generics, Ident, Path, parse_quote};

use crate::input::{Part, PartKind, Structure};

/// `Arrays` for the struct, and `Feed` for the struct of tensors.
pub(crate) fn implementations(structure: &Structure) -> TokenStream {
    let library = &structure.library;
    let module: Path = parse_quote!(#library::structure);
    let generics = bounded(structure, &module);
    let (parameters, arguments, clauses) = generics.split_for_impl();
    let name = &structure.name;
    let here = quote!(#name #arguments);

    let staged = instance(structure, |param| quote!(<#param as #module::Arrays>::Staged));
    let concrete = instance(structure, |param| quote!(<#param as #module::Arrays>::Concrete));
    let leaf = format_ident!("__Leaf");
    let of = instance(structure, |param| quote!(<#param as #module::Arrays>::Of<#leaf>));
    let methods = methods(structure, &module);
    let feed = [quote!(), quote!(&)].map(|reference| {
        let taken = if reference.is_empty() { quote!(&self) } else { quote!(self) };
        quote! {
            #[automatically_derived]
            impl #parameters #module::Feed<#here> for #reference #concrete #clauses {
                fn feed(self) -> #module::Fed {
                    #module::Fed::of(#taken)
                }
            }
        }
    });
    quote! {
        #[automatically_derived]
        impl #parameters #module::Arrays for #here #clauses {
            type Staged = #staged;
            type Concrete = #concrete;
            type Of<#leaf: #module::Arrays> = #of;
            #methods
        }
        #(#feed)*
    }
}

/// The parameters of the struct, with what they have to be.
fn bounded(structure: &Structure, module: &Path) -> Generics {
    let mut generics = structure.generics.clone();
    for param in generics.type_params_mut() {
        if structure.arrays.contains(&param.ident) {
            param.bounds.push(parse_quote!(#module::Arrays));
        } else {
            param.bounds.push(parse_quote!(#module::Plain));
        }
    }
    generics
}

/// The struct with each parameter that stands for arrays replaced.
fn instance(structure: &Structure, replaced: impl Fn(&Ident) -> TokenStream) -> TokenStream {
    let name = &structure.name;
    let arguments = structure.generics.params.iter().map(|param| match param {
        GenericParam::Type(param) if structure.arrays.contains(&param.ident) => {
            replaced(&param.ident)
        }
        GenericParam::Type(param) => {
            let ident = &param.ident;
            quote!(#ident)
        }
        GenericParam::Const(param) => {
            let ident = &param.ident;
            quote!(#ident)
        }
        GenericParam::Lifetime(param) => {
            let lifetime = &param.lifetime;
            quote!(#lifetime)
        }
    });
    quote!(#name<#(#arguments),*>)
}

fn methods(structure: &Structure, module: &Path) -> TokenStream {
    let (name, library) = (structure.name.to_string(), &structure.library);
    let fields = &structure.fields;
    let members: Vec<_> = fields.iter().map(|part| &part.member).collect();
    let names: Vec<_> = fields.iter().map(|part| &part.name).collect();
    // A constant of the user's with the name of a variable would stand in its place, hygiene or no.
    let (tree, leaves) = (format_ident!("__tree"), format_ident!("__leaves"));
    let parts: Vec<Ident> = (0..fields.len()).map(|n| format_ident!("__part{n}")).collect();

    let trees = fields.iter().map(|part| tree_of(part, module));
    let flattened = fields.iter().filter_map(|Part { member, ty, kind, .. }| match kind {
        PartKind::Skipped => None,
        PartKind::Arrays | PartKind::WithoutArrays => Some(quote_spanned! { ty.span() =>
            <#ty as #module::Arrays>::flatten(&self.#member, #leaves);
        }),
    });
    let unflattened = fields.iter().zip(&parts).map(|(Part { ty, kind, .. }, part)| match kind {
        PartKind::Skipped => quote_spanned!(ty.span()=> #module::Tree::fixed_value::<#ty>(#part)?),
        PartKind::Arrays | PartKind::WithoutArrays => quote_spanned! { ty.span() =>
            <#ty as #module::Arrays>::unflatten(#part, #leaves)?
        },
    });
    let nothings = fields.iter().map(|Part { ty, kind, .. }| match kind {
        PartKind::Skipped => quote_spanned! { ty.span() =>
            <#ty as ::core::default::Default>::default()
        },
        PartKind::Arrays | PartKind::WithoutArrays => quote_spanned! { ty.span() =>
            <#ty as #module::Arrays>::nothing()
        },
    });
    let found = fields.iter().map(|Part { name: field, ty, kind, .. }| match kind {
        PartKind::Skipped => {
            quote_spanned!(ty.span()=> (#field, &|#tree| #module::Entries::skipped(#tree, #name)))
        }
        PartKind::Arrays | PartKind::WithoutArrays => quote_spanned! { ty.span() =>
            (#field, &<#ty as #module::Arrays>::tree_in)
        },
    });
    quote! {
        fn tree(&self) -> #module::Tree {
            #module::Tree::named([#((#names, #trees)),*])
        }

        #[allow(unused_variables)]
        fn flatten(&self, #leaves: &mut ::std::vec::Vec<#module::Leaf>) {
            #(#flattened)*
        }

        #[allow(unused_variables)]
        fn unflatten(
            #tree: &#module::Tree,
            #leaves: &mut #module::Leaves,
        ) -> ::core::result::Result<Self, #library::Error> {
            let [#(#parts),*] = #module::Tree::fields(#tree, #name, [#(#names),*])?;
            ::core::result::Result::Ok(Self { #(#members: #unflattened),* })
        }

        fn nothing() -> Self {
            Self { #(#members: #nothings),* }
        }

        fn tree_in(
            #tree: &#module::Entries<'_>,
        ) -> ::core::result::Result<#module::Tree, #library::Error> {
            #module::Entries::named(#tree, [#(#found),*])
        }
    }
}

fn tree_of(Part { member, ty, kind, .. }: &Part, module: &Path) -> TokenStream {
    match kind {
        PartKind::Arrays => quote_spanned! { ty.span() =>
            <#ty as #module::Arrays>::tree(&self.#member)
        },
        PartKind::WithoutArrays => quote_spanned! { ty.span() =>
            #module::tree_without_arrays::<#ty>(&self.#member)
        },
        PartKind::Skipped => quote_spanned! { ty.span() =>
            #module::Tree::fixed::<#ty>(&self.#member)
        },
    }
}
