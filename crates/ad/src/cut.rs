//! The cheapest nodes of a graph that every way from its sources to its sinks goes through.
//!
//! By the theorem of maximal flow and minimal cut: each node is an edge of the capacity that it
//! costs, and the flow is found in phases of shortest ways (Dinic).

use std::collections::VecDeque;

/// The cost of a node that cannot be taken.
pub(crate) const NEVER: u64 = u64::MAX / 4;

/// Visits of edges, for each edge there is, after which the search is given up.
const EFFORT: usize = 256;

/// An acyclic graph whose nodes have costs.
#[derive(Default)]
pub(crate) struct Graph {
    pub costs: Vec<u64>,
    pub edges: Vec<(usize, usize)>,
    pub sources: Vec<usize>,
    pub sinks: Vec<usize>,
}

impl Graph {
    /// The cheapest cut; of several the one next to the sources. `None` if it takes too long to
    /// find, or if there is none.
    pub(crate) fn cheapest_cut(&self) -> Option<Vec<usize>> {
        let mut flow = Flow::new(self);
        while flow.level() {
            flow.saturate();
            if flow.effort == 0 {
                return None;
            }
        }
        // Levels are those of what the sources still reach.
        let reached = |v: usize| flow.levels[v] != usize::MAX;
        let cut = |&n: &usize| reached(2 * n) && !reached(2 * n + 1);
        (flow.sent < NEVER).then(|| (0..self.costs.len()).filter(cut).collect())
    }
}

/// The flow so far: every node of the graph is an edge from `2n` to `2n + 1`.
struct Flow {
    /// Edge `e` leads to `to[e]` with `room[e]` left; its reverse is `e ^ 1`.
    to: Vec<usize>,
    room: Vec<u64>,
    /// The edges from each vertex.
    from: Vec<Vec<usize>>,
    /// The distance of each vertex from the sources in this phase.
    levels: Vec<usize>,
    /// How many edges of each vertex lead nowhere in this phase.
    tried: Vec<usize>,
    sent: u64,
    effort: usize,
}

impl Flow {
    fn new(graph: &Graph) -> Flow {
        let vertices = 2 * graph.costs.len() + 2;
        let mut flow = Flow {
            to: Vec::new(),
            room: Vec::new(),
            from: vec![Vec::new(); vertices],
            levels: Vec::new(),
            tried: Vec::new(),
            sent: 0,
            effort: 0,
        };
        for (n, &cost) in graph.costs.iter().enumerate() {
            flow.edge(2 * n, 2 * n + 1, cost);
        }
        for &(a, b) in &graph.edges {
            flow.edge(2 * a + 1, 2 * b, NEVER);
        }
        for &n in &graph.sources {
            flow.edge(vertices - 2, 2 * n, NEVER);
        }
        for &n in &graph.sinks {
            flow.edge(2 * n + 1, vertices - 1, NEVER);
        }
        flow.effort = EFFORT * flow.to.len();
        flow
    }

    fn edge(&mut self, a: usize, b: usize, room: u64) {
        for (from, to, room) in [(a, b, room), (b, a, 0)] {
            self.from[from].push(self.to.len());
            self.to.push(to);
            self.room.push(room);
        }
    }

    fn ends(&self) -> (usize, usize) {
        (self.from.len() - 2, self.from.len() - 1)
    }

    /// Begins a phase; whether anything can still flow.
    fn level(&mut self) -> bool {
        let (source, sink) = self.ends();
        self.levels = vec![usize::MAX; self.from.len()];
        self.tried = vec![0; self.from.len()];
        self.levels[source] = 0;
        let mut open = VecDeque::from([source]);
        while let Some(v) = open.pop_front() {
            for &e in &self.from[v] {
                let w = self.to[e];
                if self.room[e] > 0 && self.levels[w] == usize::MAX {
                    self.levels[w] = self.levels[v] + 1;
                    open.push_back(w);
                }
            }
        }
        self.levels[sink] != usize::MAX
    }

    /// Sends as much as there is room for along shortest ways.
    fn saturate(&mut self) {
        let (source, sink) = self.ends();
        let mut way: Vec<usize> = Vec::new();
        loop {
            self.effort = self.effort.saturating_sub(1);
            if self.effort == 0 {
                return;
            }
            let v = way.last().map_or(source, |&e| self.to[e]);
            if v == sink {
                let most = way.iter().map(|&e| self.room[e]).min().unwrap_or(0);
                self.effort = self.effort.saturating_sub(way.len());
                self.sent = self.sent.saturating_add(most);
                for &e in &way {
                    self.room[e] -= most;
                    self.room[e ^ 1] = self.room[e ^ 1].saturating_add(most);
                }
                // On from the first edge that is full.
                let full = way.iter().position(|&e| self.room[e] == 0).unwrap_or(0);
                way.truncate(full);
                continue;
            }
            match self.from[v].get(self.tried[v]) {
                Some(&e) if self.room[e] > 0 && self.levels[self.to[e]] == self.levels[v] + 1 => {
                    way.push(e);
                }
                Some(_) => self.tried[v] += 1,
                None => match way.pop() {
                    Some(e) => self.tried[self.to[e ^ 1]] += 1,
                    None => return,
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotan_testkit::Rng;

    /// What the cheapest cut costs, by trying all.
    fn least(graph: &Graph) -> Option<u64> {
        let nodes = graph.costs.len();
        let parts = (0..1usize << nodes).filter(|part| {
            let mut reached = vec![false; nodes];
            graph.sources.iter().for_each(|&n| reached[n] = true);
            // Edges lead to larger numbers.
            for n in 0..nodes {
                if reached[n] && part >> n & 1 == 0 {
                    graph.edges.iter().filter(|e| e.0 == n).for_each(|e| reached[e.1] = true);
                }
            }
            graph.sinks.iter().all(|&n| !reached[n] || part >> n & 1 == 1)
        });
        let cost = |part: usize| {
            let taken = (0..nodes).filter(|n| part >> n & 1 == 1);
            taken.fold(0u64, |sum, n| sum.saturating_add(graph.costs[n]))
        };
        parts.map(cost).filter(|&cost| cost < NEVER).min()
    }

    #[test]
    fn cuts_are_cheapest() {
        let mut rng = Rng::new(7);
        let mut found = 0;
        for _ in 0..2000 {
            let nodes = 2 + rng.below(8);
            let mut graph = Graph::default();
            for n in 0..nodes {
                let never = rng.below(6) == 0;
                graph.costs.push(if never { NEVER } else { rng.below(9) as u64 });
                for m in n + 1..nodes {
                    if rng.below(3) == 0 {
                        graph.edges.push((n, m));
                    }
                }
            }
            graph.sources = (0..nodes).filter(|_| rng.below(3) == 0).collect();
            graph.sinks = (0..nodes).filter(|_| rng.below(3) == 0).collect();
            let cut = graph.cheapest_cut();
            let cost = cut.as_ref().map(|cut| cut.iter().map(|&n| graph.costs[n]).sum::<u64>());
            assert_eq!(cost, least(&graph));
            found += usize::from(cut.is_some_and(|cut| cut.len() > 1));
        }
        assert!(found > 300, "{found}");
    }

    /// A ladder of a hundred thousand rungs is one phase or a few.
    #[test]
    fn deep_graphs_are_cut() {
        let nodes = 100_000;
        let mut graph = Graph { costs: vec![2; nodes], ..Graph::default() };
        graph.costs[0] = 1000;
        graph.edges = (1..nodes).map(|n| (n - 1, n)).collect();
        graph.sources = vec![0];
        graph.sinks = (1..nodes).collect();
        assert_eq!(graph.cheapest_cut(), Some(vec![1]));
        // Every read of the source is dearer than the source.
        graph.edges = (1..nodes).map(|n| (0, n)).collect();
        assert_eq!(graph.cheapest_cut(), Some(vec![0]));
    }
}
