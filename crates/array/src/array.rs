//! Arrays of any element type.

use std::sync::Arc;

use crate::{ArrayError, Dtype, Shape};

/// The Rust types that are element types.
pub trait Element: Copy + Send + Sync + 'static + sealed::Sealed {
    /// The element type's name in the language.
    const DTYPE: Dtype;
    #[doc(hidden)]
    fn wrap(shape: Shape, data: Arc<[Self]>) -> Array;
    #[doc(hidden)]
    fn slice(array: &Array) -> Option<&[Self]>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f64 {}
    impl Sealed for f32 {}
    impl Sealed for i64 {}
    impl Sealed for bool {}
}

/// A row-major array of one of the four element types.
#[derive(Clone, Debug)]
pub struct Array {
    shape: Shape,
    data: Data,
}

#[derive(Clone, Debug)]
enum Data {
    F64(Arc<[f64]>),
    F32(Arc<[f32]>),
    I64(Arc<[i64]>),
    Bool(Arc<[bool]>),
}

macro_rules! element {
    ($t:ty, $variant:ident) => {
        impl Element for $t {
            const DTYPE: Dtype = Dtype::$variant;
            fn wrap(shape: Shape, data: Arc<[Self]>) -> Array {
                Array { shape, data: Data::$variant(data) }
            }
            fn slice(array: &Array) -> Option<&[Self]> {
                match &array.data {
                    Data::$variant(v) => Some(v),
                    _ => None,
                }
            }
        }
    };
}
element!(f64, F64);
element!(f32, F32);
element!(i64, I64);
element!(bool, Bool);

impl Array {
    /// An array of the given shape from its elements in row-major order.
    pub fn from_vec<T: Element>(shape: Shape, elements: Vec<T>) -> Result<Array, ArrayError> {
        if shape.numel() != elements.len() {
            return Err(ArrayError::WrongCount { op: "from_vec", shape, got: elements.len() });
        }
        Ok(T::wrap(shape, elements.into()))
    }

    /// A scalar.
    pub fn scalar<T: Element>(x: T) -> Array {
        T::wrap(Shape::scalar(), Arc::new([x]))
    }

    /// The shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The element type.
    pub fn dtype(&self) -> Dtype {
        match self.data {
            Data::F64(_) => Dtype::F64,
            Data::F32(_) => Dtype::F32,
            Data::I64(_) => Dtype::I64,
            Data::Bool(_) => Dtype::Bool,
        }
    }

    /// The elements in row-major order, if `T` is the element type.
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        T::slice(self)
    }
}
