//! The bound on memory: no file makes the reader allocate more than its size plus 64 KiB, apart
//! from what narrow elements widen to. Measured by an allocator that counts.
#![allow(unsafe_code, reason = "a global allocator is unsafe to implement")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use cotan_array::{Array, Shape, npy, npz};
use support::{Rng, header, npy, npy1};

thread_local! {
    /// Bytes held by this thread, and the most it has held. Signed: a thread may free what
    /// another allocated.
    static HELD: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
    /// Requests of this thread for more than this find no memory.
    static LARGEST: Cell<usize> = const { Cell::new(usize::MAX) };
}

struct Counting;

impl Counting {
    fn add(bytes: isize) {
        // Not to be counted: what is allocated while the thread ends.
        let _ = HELD.try_with(|held| {
            let (now, most) = held.get();
            held.set((now + bytes, most.max(now + bytes)));
        });
    }
}

// SAFETY: every call is answered with null, as is allowed, or handed on unchanged to the system's
// allocator, which keeps the contract; counting neither allocates (the cell is const-initialised and has no destructor) nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if LARGEST.try_with(Cell::get).is_ok_and(|largest| layout.size() > largest) {
            return std::ptr::null_mut();
        }
        Counting::add(layout.size() as isize);
        // SAFETY: the caller's obligations are ours.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        Counting::add(-(layout.size() as isize));
        // SAFETY: the caller's obligations are ours.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const SLACK: usize = 64 << 10;

/// The most bytes held at once on top of those held before.
fn peak<T>(f: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.with(|held| {
        let (now, _) = held.get();
        held.set((now, now));
        now
    });
    let result = f();
    let (_, most) = HELD.with(Cell::get);
    (result, (most - before) as usize)
}

fn bytes_of(array: &Array) -> usize {
    array.shape().bytes(array.dtype()) as usize
}

/// Reads a file and checks the bound on what that took.
fn check(bytes: &[u8]) -> bool {
    let (result, peak) = peak(|| npy::read(bytes));
    // What narrow elements widen to, if anything.
    let widened = result.as_ref().map_or(0, |array| bytes_of(array).saturating_sub(bytes.len()));
    assert!(peak <= bytes.len() + widened + SLACK, "{peak} for {}", bytes.escape_ascii());
    result.is_ok()
}

#[test]
fn the_counter_counts() {
    let ((), peak) = peak(|| drop(std::hint::black_box(vec![0u8; 100_000])));
    assert!((100_000..101_000).contains(&peak), "{peak}");
}

#[test]
fn a_large_file_is_read_in_place() {
    let array =
        Array::from_fn(Shape::new("test", &[500, 400]).unwrap(), |ix| ix[0] as f64).unwrap();
    let bytes = npy::write(&array).unwrap();
    let (read, in_memory) = peak(|| npy::read(&bytes).unwrap());
    assert_eq!(read, array);
    assert!((1_600_000..bytes.len() + 1024).contains(&in_memory), "{in_memory}");

    let path = std::env::temp_dir().join(format!("cotan-allocation-{}.npy", std::process::id()));
    let (written, peak_writing) = peak(|| npy::write_file(&path, &array));
    written.unwrap();
    let (read, from_file) = peak(|| npy::read_file(&path).unwrap());
    std::fs::remove_file(&path).unwrap();
    assert_eq!(read, array);
    assert!(from_file < bytes.len() + 1024, "{from_file}");
    assert!(peak_writing < SLACK, "{peak_writing}");
}

#[test]
fn lying_headers_get_nothing() {
    for shape in ["(1000000000,)", "(1000000, 1000000)", "(536870912, 2)", "(65536,)"] {
        assert!(!check(&npy1(header("<f8", shape), &[0; 12])));
        assert!(!check(&npy1(header("|i1", shape), &[0; 12])));
    }
    let long = npy([2, 0], format!("{{'shape': ({})}}", "0,".repeat(32_000)).as_bytes(), &[]);
    assert!(!check(&long));
    assert!(!check(b"\x93NUMPY\x02\0\xff\xff\xff\x7f"));
    assert!(!check(b"\x93NUMPY\x01\0\xff\xff{}"));
    assert!(check(&npy1(header("|i1", "(4000,)"), &[1; 4000])));
}

#[test]
fn mutants_get_no_more_than_their_size() {
    let mut rng = Rng(0xfeed_beef_cafe_0001);
    let files = [
        npy1(header("<f8", "(2, 3)"), &[0; 48]),
        npy1(header("|i1", "(3, 4, 1)"), &[0; 12]),
        npy([2, 0], header(">u4", "(7,)").as_bytes(), &[0; 28]),
    ];
    let accepted = (0..20_000).filter(|n| check(&rng.mutate(&files[n % files.len()]))).count();
    assert!(accepted > 500, "{accepted}");
}

#[test]
fn archives_are_streamed() {
    let array = Array::full(Shape::new("test", &[100_000]).unwrap(), 1.5).unwrap();
    let bytes = npz::write(&[("x", array.clone())]).unwrap();
    let (read, peak) = peak(|| npz::read(&bytes).unwrap());
    assert_eq!(read, [("x".to_string(), array)]);
    assert!(peak < bytes.len() + 2 * SLACK, "{peak}");
}

#[test]
fn without_memory_there_is_an_error() {
    let shape = || Shape::new("test", &[300, 400]).unwrap();
    let bytes = npy1(header("<f4", "(300, 400)"), &vec![0; 480_000]);
    let row = Array::from_vec(Shape::new("test", &[400]).unwrap(), vec![1.5f32; 400]).unwrap();
    LARGEST.set(100_000);
    let errors = [
        Array::full(shape(), 1.5f32).unwrap_err().to_string(),
        row.replicate(300).unwrap().contiguous().unwrap_err().to_string(),
        npy::read(&bytes).unwrap_err().to_string(),
        npy::write(&row.replicate(300).unwrap()).unwrap_err().to_string(),
    ];
    LARGEST.set(usize::MAX);
    for (error, (op, bytes)) in errors.iter().zip([
        ("full", 480_000),
        ("contiguous", 480_000),
        ("npy", 480_000),
        ("npy", 480_128),
    ]) {
        let expected =
            format!("{op}: no memory for an array of shape [300, 400] of f32 ({bytes} bytes)");
        assert_eq!(*error, expected);
    }
}
