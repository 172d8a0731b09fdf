//! The memory of an interpreted plan: elements that are numbers, or nothing.

use cotan_array::{Array, Dtype, Element};
use cotan_ir::scalar::Scalar;

use super::{InterpretError, R, fault, is_written};
use crate::nest::BufferId;
use crate::plan::{Buffer, Plan, Role};

pub(super) struct BufferValues<'a> {
    plan: &'a Plan,
    elements: Vec<Vec<Option<Scalar>>>,
    /// Of each temporary the others that lie where it lies, if that is looked at.
    sharing: Vec<Vec<usize>>,
}

/// The bytes of a temporary.
fn bytes(buffer: &Buffer) -> Option<(usize, usize)> {
    match buffer.role {
        Role::Temporary(offset) => Some((offset, offset.saturating_add(buffer.bytes()))),
        _ => None,
    }
}

impl<'a> BufferValues<'a> {
    /// Inputs and constants, and nothing else.
    pub fn new(plan: &'a Plan, inputs: &[Array]) -> R<BufferValues<'a>> {
        let mut elements = Vec::with_capacity(plan.buffers.len());
        for buffer in &plan.buffers {
            let array = match &buffer.role {
                Role::Input(k) => match inputs.get(*k) {
                    Some(array) => Some(array),
                    None => return fault(format!("there is no input {k}")),
                },
                Role::Constant(array) => Some(&**array),
                Role::Temporary(_) | Role::Local(_) | Role::Output | Role::View => None,
            };
            elements.push(match array {
                Some(array) if array.dtype() == buffer.dtype && *array.shape() == buffer.shape => {
                    scalars(array)
                }
                Some(_) => return fault("an array of another type than its buffer"),
                None => vec![None; buffer.shape.numel()],
            });
        }
        Ok(BufferValues { plan, elements, sharing: Vec::new() })
    }

    /// The same memory with temporaries at their places.
    pub fn placed(mut self) -> BufferValues<'a> {
        let places: Vec<_> = self.plan.buffers.iter().map(bytes).collect();
        let meet = |n: usize, m: usize| match (places[n], places[m]) {
            (Some((a, b)), Some((c, d))) => n != m && a.max(c) < b.min(d),
            _ => false,
        };
        let all = 0..places.len();
        let sharing = |n: usize| all.clone().filter(|&m| meet(n, m)).collect();
        self.sharing = all.clone().map(sharing).collect();
        self
    }

    /// Other temporaries lose what lies where an element is written.
    fn overwrite(&mut self, b: BufferId, at: usize) {
        let Some(others) = self.sharing.get(b.index()) else { return };
        let own = &self.plan.buffers[b.index()];
        let Some((start, _)) = bytes(own) else { return };
        let (lo, hi) = (start + at * own.dtype.size(), start + (at + 1) * own.dtype.size());
        for &n in others {
            let other = &self.plan.buffers[n];
            let (Some((start, _)), size) = (bytes(other), other.dtype.size()) else { continue };
            let first = lo.saturating_sub(start) / size;
            let end = hi.saturating_sub(start).div_ceil(size);
            for element in self.elements[n].iter_mut().take(end).skip(first) {
                *element = None;
            }
        }
    }

    fn buffer(&self, b: BufferId) -> R<&'a Buffer> {
        let buffer = self.plan.buffers.get(b.index());
        buffer.ok_or_else(|| InterpretError::Fault(format!("there is no buffer {}", b.0)))
    }

    /// The shape of a buffer.
    pub fn dims(&self, b: BufferId) -> R<&'a [usize]> {
        Ok(self.buffer(b)?.shape.dims())
    }

    /// How many elements a buffer has.
    pub fn numel(&self, b: BufferId) -> usize {
        self.elements.get(b.index()).map_or(0, Vec::len)
    }

    /// An element.
    pub fn read(&self, b: BufferId, at: i64) -> R<Scalar> {
        let buffer = self.buffer(b)?;
        let place = usize::try_from(at).ok();
        let element = place.and_then(|at| self.elements[b.index()].get(at));
        match element {
            Some(Some(x)) => Ok(*x),
            Some(None) => fault(format!("element {at} of buffer {} is read, not written", b.0)),
            None => {
                let count = buffer.shape.numel();
                fault(format!("element {at} of buffer {} is read, which has {count}", b.0))
            }
        }
    }

    /// Makes an element a number of the right type.
    pub fn write(&mut self, b: BufferId, at: i64, x: Scalar) -> R<()> {
        let buffer = self.buffer(b)?;
        if !is_written(&buffer.role) {
            return fault(format!("buffer {} is written, an input or a constant", b.0));
        }
        if dtype(x) != Some(buffer.dtype) {
            return fault(format!("a number of another type is written to buffer {}", b.0));
        }
        let place = usize::try_from(at).ok();
        match place.and_then(|at| self.elements[b.index()].get_mut(at)) {
            Some(element) => {
                *element = Some(x);
                self.overwrite(b, at as usize);
                Ok(())
            }
            None => {
                let count = buffer.shape.numel();
                fault(format!("element {at} of buffer {} is written, which has {count}", b.0))
            }
        }
    }

    /// Makes all elements 0.
    pub fn fill_zero(&mut self, b: BufferId) -> R<()> {
        let zero = Scalar::zero(self.buffer(b)?.dtype, false);
        (0..self.numel(b) as i64).try_for_each(|at| self.write(b, at, zero))
    }

    /// Makes all elements nothing.
    pub fn forget(&mut self, b: BufferId) {
        if let Some(elements) = self.elements.get_mut(b.index()) {
            elements.fill(None);
        }
    }

    /// A result.
    pub fn array(&self, b: BufferId) -> R<Array> {
        let buffer = self.buffer(b)?;
        let elements: Vec<Scalar> =
            (0..self.numel(b) as i64).map(|at| self.read(b, at)).collect::<R<_>>()?;
        fn array<T: Element>(
            buffer: &Buffer,
            elements: &[Scalar],
            of: impl Fn(Scalar) -> Option<T>,
        ) -> R<Array> {
            let elements: Option<Vec<T>> = elements.iter().map(|&x| of(x)).collect();
            let array = elements.and_then(|x| Array::from_vec(buffer.shape.clone(), x).ok());
            array.ok_or_else(|| InterpretError::Fault("a result of another type".to_owned()))
        }
        match buffer.dtype {
            Dtype::F64 => array(buffer, &elements, |x| match x {
                Scalar::F64(x) => Some(x),
                _ => None,
            }),
            Dtype::F32 => array(buffer, &elements, |x| match x {
                Scalar::F32(x) => Some(x),
                _ => None,
            }),
            Dtype::I64 => array(buffer, &elements, Scalar::as_i64),
            Dtype::Bool => array(buffer, &elements, Scalar::as_bool),
        }
    }
}

/// The type of a number; elements of the field have none here.
fn dtype(x: Scalar) -> Option<Dtype> {
    match x {
        Scalar::F64(_) => Some(Dtype::F64),
        Scalar::F32(_) => Some(Dtype::F32),
        Scalar::I64(_) => Some(Dtype::I64),
        Scalar::Bool(_) => Some(Dtype::Bool),
        Scalar::Fp(_) => None,
    }
}

fn scalars(array: &Array) -> Vec<Option<Scalar>> {
    fn all<T: Element>(array: &Array, of: impl Fn(T) -> Scalar) -> Vec<Option<Scalar>> {
        array.iter::<T>().into_iter().flatten().map(|x| Some(of(x))).collect()
    }
    match array.dtype() {
        Dtype::F64 => all(array, Scalar::F64),
        Dtype::F32 => all(array, Scalar::F32),
        Dtype::I64 => all(array, Scalar::I64),
        Dtype::Bool => all(array, Scalar::Bool),
    }
}
