//! The memory of a run: temporaries, results, and what each thread needs.

use std::sync::Arc;

use cotan_array::{Array, Dtype, Element, Shape};
use cotan_nest::{Buffer, Role};

use crate::compiled::CompiledPlan;
use crate::limits::Stop;
use crate::memory::AlignedMemory;
use crate::vm::Frame;

/// What one run needs at a time; kept for the next.
pub(crate) struct Workspace {
    pub arena: AlignedMemory,
    /// The frame of the caller first, then those of other threads.
    pub frames: Vec<Frame>,
    /// What every byte is at the beginning of a run, in tests.
    stale: Option<u8>,
}

// SAFETY: the pointers in the frames point into memory that the workspace owns, or are set anew in
// each run.
unsafe impl Send for Workspace {}

impl Workspace {
    pub(crate) fn new(plan: &CompiledPlan) -> Result<Workspace, Stop> {
        let arena = AlignedMemory::new(plan.arena).ok_or(Stop::Memory)?;
        let sizes: Arc<[usize]> = plan.buffers.iter().map(Buffer::bytes).collect();
        let mut pointers = Vec::with_capacity(plan.buffers.len());
        for buffer in &plan.buffers {
            pointers.push(match &buffer.role {
                Role::Constant(array) => bytes_of(array).ok_or(Stop::Memory)?.cast_mut(),
                // SAFETY: the plan's offsets lie within the arena.
                Role::Temporary(offset) => unsafe { arena.start().add(*offset) },
                Role::Input(_) | Role::Output | Role::View | Role::Local(_) => std::ptr::null_mut(),
            });
        }
        let local = AlignedMemory::new(plan.local).ok_or(Stop::Memory)?;
        Ok(Workspace { arena, frames: vec![Frame::new(pointers, sizes, local)], stale: None })
    }

    /// Fills all of it with a byte, and what is added to it in this run.
    pub(crate) fn fill(&mut self, byte: u8, plan: &CompiledPlan) {
        self.stale = Some(byte);
        // SAFETY: the arena and the memory of each thread have so many bytes.
        unsafe {
            std::ptr::write_bytes(self.arena.start(), byte, plan.arena);
            let frames = self.frames.iter();
            frames.for_each(|frame| std::ptr::write_bytes(frame.local(), byte, plan.local));
        }
    }

    /// Makes sure that so many threads have frames; says how many do.
    pub(crate) fn grow(&mut self, threads: usize, plan: &CompiledPlan) -> usize {
        while self.frames.len() < threads {
            let Some(local) = AlignedMemory::new(plan.local) else { break };
            let first = &self.frames[0];
            let frame = Frame::new(first.pointers.clone(), Arc::clone(&first.sizes), local);
            if let Some(byte) = self.stale {
                // SAFETY: the memory of a thread has so many bytes.
                unsafe { std::ptr::write_bytes(frame.local(), byte, plan.local) };
            }
            self.frames.push(frame);
        }
        threads.min(self.frames.len())
    }
}

/// The elements of a result while it is made.
pub(crate) enum ResultMemory {
    F64(Vec<f64>),
    F32(Vec<f32>),
    I64(Vec<i64>),
    Bool(Vec<bool>),
}

impl ResultMemory {
    pub(crate) fn new(dtype: Dtype, n: usize) -> Option<ResultMemory> {
        fn room<T: Element>(n: usize) -> Option<Vec<T>> {
            let mut room = Vec::new();
            room.try_reserve_exact(n).ok()?;
            Some(room)
        }
        Some(match dtype {
            Dtype::F64 => ResultMemory::F64(room(n)?),
            Dtype::F32 => ResultMemory::F32(room(n)?),
            Dtype::I64 => ResultMemory::I64(room(n)?),
            Dtype::Bool => ResultMemory::Bool(room(n)?),
        })
    }

    pub(crate) fn pointer(&mut self) -> *mut u8 {
        match self {
            ResultMemory::F64(v) => v.as_mut_ptr().cast(),
            ResultMemory::F32(v) => v.as_mut_ptr().cast(),
            ResultMemory::I64(v) => v.as_mut_ptr().cast(),
            ResultMemory::Bool(v) => v.as_mut_ptr().cast(),
        }
    }

    /// The array of all elements.
    ///
    /// # Safety
    /// Every element was written.
    pub(crate) unsafe fn finish(self, shape: Shape) -> Array {
        /// # Safety
        /// The first `n` elements were written, for which there is room.
        unsafe fn filled<T: Element>(mut v: Vec<T>, shape: Shape) -> Array {
            // SAFETY: by the contract.
            unsafe { v.set_len(shape.numel()) };
            T::wrap(shape, v)
        }
        // SAFETY: by the contract.
        unsafe {
            match self {
                ResultMemory::F64(v) => filled(v, shape),
                ResultMemory::F32(v) => filled(v, shape),
                ResultMemory::I64(v) => filled(v, shape),
                ResultMemory::Bool(v) => filled(v, shape),
            }
        }
    }
}

/// The first byte of an array whose elements lie in row-major order.
pub(crate) fn bytes_of(array: &Array) -> Option<*const u8> {
    match array.dtype() {
        Dtype::F64 => array.as_slice::<f64>().map(|s| s.as_ptr().cast()),
        Dtype::F32 => array.as_slice::<f32>().map(|s| s.as_ptr().cast()),
        Dtype::I64 => array.as_slice::<i64>().map(|s| s.as_ptr().cast()),
        Dtype::Bool => array.as_slice::<bool>().map(|s| s.as_ptr().cast()),
    }
}

/// The first byte of an array that a result may be written over.
pub(crate) fn bytes_to_overwrite(array: &mut Array) -> Option<*mut u8> {
    match array.dtype() {
        Dtype::F64 => array.as_mut_slice::<f64>().map(|s| s.as_mut_ptr().cast()),
        Dtype::F32 => array.as_mut_slice::<f32>().map(|s| s.as_mut_ptr().cast()),
        Dtype::I64 => array.as_mut_slice::<i64>().map(|s| s.as_mut_ptr().cast()),
        Dtype::Bool => array.as_mut_slice::<bool>().map(|s| s.as_mut_ptr().cast()),
    }
}
