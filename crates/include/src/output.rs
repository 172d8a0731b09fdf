//! The functions of a file, written as Rust.

use cotan_array::Dtype;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::file::{File, Function, ParamKind};

/// The functions, and the texts that they come from: when a text changes, they are made again.
pub(crate) fn functions(file: &File) -> TokenStream {
    let texts = file.files.iter().map(|(name, path)| {
        let path = path.to_string_lossy();
        quote!((#name, ::core::include_str!(#path)))
    });
    let entry = file.files.first().map_or("", |(name, _)| name);
    let letters = entry.chars().map(|c| if c.is_alphanumeric() { c } else { '_' });
    let text = format_ident!("__COTAN_{}", letters.collect::<String>().to_uppercase());
    let functions = file.functions.iter().map(|f| function(f, &text));
    quote! {
        #[doc(hidden)]
        static #text: ::cotan::text::Text = ::cotan::text::Text::new(&[#(#texts),*]);
        #(#functions)*
    }
}

fn element(dtype: Dtype) -> TokenStream {
    match dtype {
        Dtype::F64 => quote!(f64),
        Dtype::F32 => quote!(f32),
        Dtype::I64 => quote!(i64),
        Dtype::Bool => quote!(bool),
    }
}

fn array(dtype: Dtype) -> TokenStream {
    let element = element(dtype);
    quote!(::cotan::Arr<#element>)
}

/// A name of the language in Rust, where it may be a keyword.
fn ident(name: &str) -> proc_macro2::Ident {
    match syn::parse_str::<syn::Ident>(name) {
        Ok(ident) => ident,
        Err(_) => format_ident!("r#{}", name),
    }
}

fn function(f: &Function, text: &proc_macro2::Ident) -> TokenStream {
    let (name, doc, written) = (ident(&f.name), &f.doc, &f.name);
    let (mut params, mut given) = (Vec::new(), Vec::new());
    for (n, param) in f.params.iter().enumerate() {
        // Names of the language may have strokes.
        let plain: String = param.name.chars().map(|c| if c == '\'' { '_' } else { c }).collect();
        let x = match plain.as_str() {
            "self" | "Self" | "super" | "crate" | "_" => format_ident!("x{}", n),
            plain => ident(plain),
        };
        let (ty, argument) = match &param.kind {
            ParamKind::Array(dtype) => {
                (array(*dtype), quote!(::cotan::text::Argument::Arrays(::std::vec![#x.into()])))
            }
            ParamKind::Arrays(dtypes) => {
                let types = dtypes.iter().map(|&dtype| array(dtype));
                let places = (0..dtypes.len()).map(syn::Index::from);
                (
                    quote!((#(#types,)*)),
                    quote!(::cotan::text::Argument::Arrays(::std::vec![#(#x.#places.into()),*])),
                )
            }
            ParamKind::Integer => (quote!(i64), quote!(::cotan::text::Argument::Integer(#x))),
            ParamKind::Truth => (quote!(bool), quote!(::cotan::text::Argument::Truth(#x))),
        };
        params.push(quote!(#x: #ty));
        given.push(argument);
    }
    let types = f.results.iter().map(|&dtype| array(dtype));
    let next = f.results.iter().map(|&dtype| {
        let element = element(dtype);
        quote!(::cotan::text::next::<#element>(&mut results))
    });
    let (ty, value) = match f.one_result {
        true => (quote!(#(#types)*), quote!(#(#next)*)),
        false => (quote!((#(#types,)*)), quote!((#(#next,)*))),
    };
    quote! {
        #[doc = #doc]
        #[track_caller]
        #[allow(dead_code, unused_mut, non_snake_case)]
        #[allow(clippy::too_many_arguments, clippy::type_complexity)]
        pub fn #name(#(#params),*) -> #ty {
            let mut results = #text.call(#written, ::std::vec![#(#given),*]).into_iter();
            #value
        }
    }
}
