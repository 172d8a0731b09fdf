//! Colourings: which rows or columns can be computed together.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cotan_ir::Result;

use crate::looks::Looks;
use crate::pattern::Pattern;

/// A colour for each row or column, so that those of one colour can be computed by one product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coloring {
    /// The colours, from 0.
    pub colors: Vec<u32>,
    /// The number of colours.
    pub count: usize,
}

impl Coloring {
    fn new(colors: Vec<u32>) -> Coloring {
        let count = colors.iter().max().map_or(0, |&c| c as usize + 1);
        Coloring { colors, count }
    }
}

/// Greedy choices: the least colour that is not forbidden for a vertex.
struct Palette {
    /// The vertex that forbade each colour last.
    forbidden: Vec<usize>,
}

impl Palette {
    const NOBODY: usize = usize::MAX;

    fn new() -> Palette {
        Palette { forbidden: Vec::new() }
    }

    fn forbid(&mut self, color: u32, v: usize) {
        let color = color as usize;
        if color >= self.forbidden.len() {
            self.forbidden.resize(color + 1, Palette::NOBODY);
        }
        self.forbidden[color] = v;
    }

    fn least(&self, v: usize) -> u32 {
        let free = self.forbidden.iter().position(|&by| by != v);
        free.unwrap_or(self.forbidden.len()) as u32
    }
}

/// Colours the rows so that two rows of one colour have no column in common: then the sum of these
/// rows has each of their entries by itself. For columns, give the transposed pattern.
///
/// Greedy, in the natural order, with the longest rows first, and with the rows first whose neighbours
/// have the most colours, whichever needs the fewest; in time of the sum over all columns of the squares
/// of their lengths, but for a logarithm. Fails only where the work of [`cotan_ir::within`] has to end.
pub fn color_rows(pattern: &Pattern) -> Result<Coloring> {
    let columns = pattern.transposed();
    let natural = greedy_rows(pattern, &columns, 0..pattern.shape().rows)?;
    // A column with entries in so many rows needs as many colours: there are no fewer.
    let fewest = (0..columns.shape().rows).map(|c| columns.row(c).len()).max().unwrap_or(0);
    if natural.count <= fewest {
        return Ok(natural);
    }
    let longest = greedy_rows(pattern, &columns, by_length(pattern).into_iter())?;
    let best = if longest.count < natural.count { longest } else { natural };
    let pairs: usize = (0..columns.shape().rows).map(|c| columns.row(c).len().pow(2)).sum();
    if best.count <= fewest || pairs > MAX_SATURATED_PAIRS {
        return Ok(best);
    }
    let saturated = saturated_rows(pattern, &columns)?;
    Ok(if saturated.count < best.count { saturated } else { best })
}

/// Patterns with more pairs of rows that have a column in common are coloured in given orders only: in
/// those of equations on grids, which gain the most, each row has a dozen.
const MAX_SATURATED_PAIRS: usize = 1 << 26;

/// Colours next the row whose neighbours have the most different colours (Brélaz). On grids this finds
/// the colourings that one would write by hand.
fn saturated_rows(pattern: &Pattern, columns: &Pattern) -> Result<Coloring> {
    let (mut looks, rows) = (Looks::new("color"), pattern.shape().rows);
    let mut colors = vec![u32::MAX; rows];
    let mut around = vec![ColorSet::default(); rows];
    // The first of equals is the longest, of these the first.
    let entry = |saturation: usize, r: usize| (saturation, pattern.row(r).len(), Reverse(r));
    let mut queue: BinaryHeap<_> = (0..rows).map(|r| entry(0, r)).collect();
    while let Some((saturation, _, Reverse(r))) = queue.pop() {
        // What has changed since is in the queue again.
        if colors[r] != u32::MAX || saturation != around[r].0.len() {
            continue;
        }
        let color = around[r].least_missing();
        colors[r] = color;
        for &c in pattern.row(r) {
            looks.after(columns.row(c as usize).len())?;
            for &other in columns.row(c as usize) {
                let other = other as usize;
                if colors[other] == u32::MAX && around[other].add(color) {
                    queue.push(entry(around[other].0.len(), other));
                }
            }
        }
    }
    Ok(Coloring::new(colors))
}

fn greedy_rows(
    pattern: &Pattern,
    columns: &Pattern,
    order: impl Iterator<Item = usize>,
) -> Result<Coloring> {
    let mut looks = Looks::new("color");
    let mut colors = vec![u32::MAX; pattern.shape().rows];
    let mut palette = Palette::new();
    for r in order {
        for &c in pattern.row(r) {
            looks.after(columns.row(c as usize).len())?;
            for &other in columns.row(c as usize) {
                let color = colors[other as usize];
                if color != u32::MAX {
                    palette.forbid(color, r);
                }
            }
        }
        colors[r] = palette.least(r);
    }
    Ok(Coloring::new(colors))
}

/// The rows, those with the most entries first.
fn by_length(pattern: &Pattern) -> Vec<usize> {
    let mut order: Vec<usize> = (0..pattern.shape().rows).collect();
    order.sort_by_key(|&r| Reverse(pattern.row(r).len()));
    order
}

/// Colours the columns of a symmetric matrix, with a full diagonal, such that each entry is by itself
/// in one of two products: a *star colouring*, in which neighbours differ and every path over four
/// vertices has three colours. An entry $(i, j)$ that shares its row with another column of the colour
/// of $j$ then shares its row in no product with the colour of $i$.
///
/// It needs fewer colours than [`color_rows`]: an arrow, of which one row and one column are full, needs
/// two. Greedy, in the same two orders. Fails as that does.
pub fn color_star(pattern: &Pattern) -> Result<Coloring> {
    let natural = greedy_star(pattern, 0..pattern.shape().rows)?;
    let longest = greedy_star(pattern, by_length(pattern).into_iter())?;
    Ok(if longest.count < natural.count { longest } else { natural })
}

/// A path $w - x - y$ and a vertex $v$ at its end or between: when $v$ is the last of four to get a
/// colour, it must not make them two-coloured.
///
/// * $v - w - x - y$ with the colours of $w$ and $y$ equal: $v$ must differ from $x$.
/// * $w - v - w' - x$ with the colours of $w$ and $w'$ equal: $v$ must differ from $x$.
///
/// The colours that this forbids are kept up to date for each vertex $w$, so that no neighbourhood is
/// gone through for each of its members; a vertex that all others are neighbours of costs no more.
fn greedy_star(pattern: &Pattern, order: impl Iterator<Item = usize>) -> Result<Coloring> {
    let mut looks = Looks::new("color");
    let neighbors = |v: usize| pattern.row(v).iter().map(|&w| w as usize).filter(move |&w| w != v);
    let vertices = pattern.shape().rows;
    let mut colors: Vec<Option<u32>> = vec![None; vertices];
    let mut palette = Palette::new();
    // The colours of the neighbours of each vertex, those of several of them, and the colours of
    // those neighbours that have another neighbour of the colour of the vertex.
    let mut once = vec![ColorSet::default(); vertices];
    let mut more = vec![ColorSet::default(); vertices];
    let mut beyond = vec![ColorSet::default(); vertices];
    for v in order {
        for w in neighbors(v) {
            looks.after(1 + beyond[w].0.len())?;
            let Some(color) = colors[w] else { continue };
            palette.forbid(color, v);
            beyond[w].0.iter().for_each(|&c| palette.forbid(c, v));
            if more[v].has(color) {
                once[w].0.iter().for_each(|&c| palette.forbid(c, v));
            }
        }
        let color = palette.least(v);
        colors[v] = Some(color);
        // v as the middle x of a path w - x - y of colours that are there.
        for w in neighbors(v) {
            if colors[w].is_some_and(|c| more[v].has(c)) {
                beyond[w].add(color);
            }
        }
        // v as an end of such paths, with x in the middle.
        for x in neighbors(v) {
            if once[x].add(color) {
                continue;
            }
            let first = more[x].add(color);
            let Some(middle) = colors[x] else { continue };
            beyond[v].add(middle);
            if first {
                looks.after(pattern.row(x).len())?;
                for w in neighbors(x).filter(|&w| colors[w] == Some(color)) {
                    beyond[w].add(middle);
                }
            }
        }
    }
    Ok(Coloring::new(colors.into_iter().map(|c| c.unwrap_or(0)).collect()))
}

/// A few colours, ascending.
#[derive(Clone, Default)]
struct ColorSet(Vec<u32>);

impl ColorSet {
    /// The least colour that is not there.
    fn least_missing(&self) -> u32 {
        let gap = self.0.iter().enumerate().position(|(k, &c)| c as usize != k);
        gap.unwrap_or(self.0.len()) as u32
    }

    fn has(&self, color: u32) -> bool {
        self.0.binary_search(&color).is_ok()
    }

    /// Adds a colour, if it was not there.
    fn add(&mut self, color: u32) -> bool {
        match self.0.binary_search(&color) {
            Ok(_) => false,
            Err(at) => {
                self.0.insert(at, color);
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(rows: &[&[u32]], columns: usize) -> Pattern {
        Pattern::of_rows(rows.iter().map(|r| r.to_vec()).collect(), columns)
    }

    /// A random symmetric pattern with a full diagonal.
    fn symmetric(n: usize, edges: usize, mut seed: u64) -> Pattern {
        let mut next = |k: usize| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as usize % k
        };
        let mut rows: Vec<Vec<u32>> = (0..n).map(|r| vec![r as u32]).collect();
        for _ in 0..edges {
            let (i, j) = (next(n), next(n));
            rows[i].push(j as u32);
            rows[j].push(i as u32);
        }
        Pattern::of_rows(rows, n)
    }

    /// Neighbours differ, and no path over four vertices has two colours only.
    fn is_star(pattern: &Pattern, colors: &[u32]) -> bool {
        let around = |v: u32| pattern.row(v as usize).iter().copied().filter(move |&w| w != v);
        let color = |v: u32| colors[v as usize];
        (0..pattern.shape().rows as u32).all(|v| {
            around(v).all(|w| {
                color(w) != color(v)
                    && around(w).filter(|&x| x != v).all(|x| {
                        color(x) != color(v) || around(x).all(|y| y == w || color(y) != color(w))
                    })
            })
        })
    }

    #[test]
    fn rows_of_one_color_have_no_column_in_common() {
        for seed in 0..50 {
            let p = symmetric(40, 60, seed);
            let Coloring { colors, count } = color_rows(&p).unwrap();
            assert!(colors.iter().all(|&c| (c as usize) < count));
            for a in 0..40 {
                for b in 0..a {
                    let common = p.row(a).iter().any(|c| p.row(b).contains(c));
                    assert!(!common || colors[a] != colors[b], "rows {a} and {b}, seed {seed}");
                }
            }
        }
    }

    /// The equation of Poisson on a grid, by its five-point stencil: five colours are the fewest.
    #[test]
    fn grids_need_as_many_colors_as_their_stencil_has_points() {
        for m in [5, 12, 40] {
            let near = |k: usize| {
                let (i, j) = (k / m, k % m);
                let all = [(i > 0, k.wrapping_sub(m)), (j > 0, k.wrapping_sub(1)), (true, k)];
                let all = all.into_iter().chain([(j + 1 < m, k + 1), (i + 1 < m, k + m)]);
                all.filter(|(inside, _)| *inside).map(|(_, k)| k as u32).collect()
            };
            let grid = Pattern::of_rows((0..m * m).map(near).collect(), m * m);
            let Coloring { colors, count } = color_rows(&grid).unwrap();
            assert_eq!(count, 5, "{m}");
            let columns = grid.transposed();
            for c in 0..m * m {
                let mut seen: Vec<u32> =
                    columns.row(c).iter().map(|&r| colors[r as usize]).collect();
                seen.sort_unstable();
                seen.dedup();
                assert_eq!(seen.len(), columns.row(c).len(), "column {c} of {m}");
            }
        }
    }

    #[test]
    fn star_colorings_are_star_colorings() {
        for seed in 0..200 {
            let p = symmetric(30, 10 + seed as usize % 60, seed);
            assert!(is_star(&p, &color_star(&p).unwrap().colors), "seed {seed}");
        }
    }

    #[test]
    fn known_patterns_need_known_numbers() {
        let band = |n: usize| {
            let row = |r: usize| (r.saturating_sub(1)..(r + 2).min(n)).map(|c| c as u32).collect();
            Pattern::of_rows((0..n).map(row).collect(), n)
        };
        assert_eq!(color_rows(&band(100)).unwrap().count, 3);
        assert_eq!(color_star(&band(100)).unwrap().count, 3);
        // An arrow: by rows all differ, by stars two colours do.
        let n = 10_000;
        let mut rows: Vec<Vec<u32>> = (0..n as u32).map(|r| vec![0, r]).collect();
        rows[0] = (0..n as u32).collect();
        assert_eq!(color_star(&Pattern::of_rows(rows, n)).unwrap().count, 2);
        assert_eq!(color_rows(&pattern(&[], 0)).unwrap().count, 0);
        assert_eq!(color_rows(&pattern(&[&[], &[]], 3)).unwrap().count, 1);
    }
}
