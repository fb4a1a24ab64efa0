//! The exhaustive mode: every way in which a small world can go, breadth first.
//!
//! A world here has two orders and one product. At every state all moves are tried that its budget allows: each waiting call goes on, fails or is
//! never heard of; each task crashes where it stands; each record is delivered, doubled, or lost; a customer places or cancels; everything
//! freezes until the sweeper is due. States that cannot differ in what follows count once (`sums.rs` says what makes two states the same). Every state is held against the invariants, every state without a further move against those of a world at rest.
//!
//! Futures cannot be copied, so a state is kept as the last still world before it (one without a running task) and the moves since then, and
//! played again for each of its moves. The budget bounds how much goes wrong in one history, not where: with one crash, every crash point
//! of every interleaving is visited.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};

use super::Mutation;

mod moves;
mod small;
mod sums;

use moves::Move;
use small::{Begin, SmallWorld};
use sums::Sums;

/// A small world, and how much may go wrong in one history of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// In a few words.
    pub name: &'static str,
    /// How the gateway behaves for each order, as a payment token.
    pub payments: [&'static str; 2],
    /// Of the product; each order wants one.
    pub stock: u8,
    /// Whether the first order's customer may cancel, at any moment.
    pub cancels: bool,
    /// Whether each task of the second order runs to its end at once, between any two moves of the first: it still takes and gives back stock at
    /// every moment, and the states of both are added instead of multiplied.
    pub second_at_once: bool,
    /// How much may go wrong.
    pub budget: Budget,
    /// What is broken, for tests of the mode itself.
    pub mutation: Option<Mutation>,
}

/// How often each thing may happen in one history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Tasks that end at a call.
    pub crashes: u8,
    /// Records that are lost.
    pub losses: u8,
    /// Records that are delivered twice.
    pub repeats: u8,
    /// Calls that fail or are not heard of.
    pub faults: u8,
    /// Times that everything is frozen until the sweeper is due.
    pub freezes: u8,
    /// Tasks that run at the same time, at most.
    pub tasks: u8,
}

/// What became of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exploration {
    /// Of the scenario.
    pub name: &'static str,
    /// Different states visited.
    pub states: usize,
    /// Moves tried.
    pub moves: usize,
    /// The longest history, in moves.
    pub depth: usize,
    /// States without a further move.
    pub ends: usize,
    /// False if the limit of states was reached first.
    pub complete: bool,
    /// The first state that breaks something: what it breaks, and the moves that lead there.
    pub finding: Option<Finding>,
}

/// A state that should not be reachable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What is wrong there.
    pub what: Vec<String>,
    /// How it came about, move by move.
    pub moves: Vec<String>,
}

impl Budget {
    /// Nothing goes wrong but the order in which two tasks at a time go on.
    pub const NONE: Self = Self {
        crashes: 0,
        losses: 0,
        repeats: 0,
        faults: 0,
        freezes: 0,
        tasks: 2,
    };

    /// One thing goes wrong in a history: each kind in turn.
    pub const ONE_OF_EACH: [Self; 5] = [
        Self {
            crashes: 1,
            ..Self::NONE
        },
        Self {
            losses: 1,
            ..Self::NONE
        },
        Self {
            repeats: 1,
            ..Self::NONE
        },
        Self {
            faults: 1,
            ..Self::NONE
        },
        Self {
            freezes: 1,
            ..Self::NONE
        },
    ];
}

impl Scenario {
    /// The scenarios with this budget.
    #[must_use]
    pub fn with(budget: Budget) -> Vec<Self> {
        let scenario = |name, payments, stock, cancels| Self {
            name,
            payments,
            stock,
            cancels,
            // A cancellation alone makes hundreds of states of one order.
            second_at_once: cancels,
            budget,
            mutation: None,
        };
        vec![
            scenario("stock for one of two", ["approve", "approve"], 1, false),
            scenario("one is declined", ["decline", "approve"], 2, false),
            scenario("one is cancelled", ["approve", "approve"], 2, true),
            scenario(
                "one is charged and not heard of, and cancelled",
                ["timeout-charged", "approve"],
                1,
                true,
            ),
            scenario(
                "one is pending, its refund not heard of",
                ["pending-then-approve:40s+refund-timeout", "approve"],
                1,
                true,
            ),
        ]
    }
}

/// How a state came about.
#[derive(Debug)]
struct Story {
    before: Option<Arc<Story>>,
    label: String,
}

/// A state to go on from.
struct Node {
    begin: Arc<Begin>,
    since: Vec<Move>,
    moves: Vec<Move>,
    story: Arc<Story>,
}

/// What one move led to.
struct Reached {
    hash: u64,
    /// Absent if the state is known.
    node: Option<Node>,
    wrong: Vec<String>,
}

/// Visits every state of a scenario, up to `most_states`. Ends at the first finding.
///
/// # Errors
/// If no tokio runtime can be made.
pub fn explore(
    scenario: &Scenario,
    threads: usize,
    most_states: usize,
) -> std::io::Result<Exploration> {
    let mut exploration = Exploration {
        name: scenario.name,
        states: 0,
        moves: 0,
        depth: 0,
        ends: 0,
        complete: true,
        finding: None,
    };
    let mut visited = HashSet::new();
    let first = {
        let runtime = runtime()?;
        runtime.block_on(tokio::task::unconstrained(async {
            let world = SmallWorld::new(scenario);
            visited.insert(world.hash(&mut Sums::default()));
            Node {
                begin: Arc::new(world.begin()),
                since: Vec::new(),
                moves: world.moves(),
                story: Arc::new(Story {
                    before: None,
                    label: "nothing is placed yet".to_owned(),
                }),
            }
        }))
    };
    let mut frontier = vec![first];
    while !frontier.is_empty() {
        exploration.ends += frontier.iter().filter(|node| node.moves.is_empty()).count();
        let size = frontier.len().div_ceil(threads.max(1)).max(1);
        let chunks: Vec<_> = frontier.chunks(size).collect();
        let reached = std::thread::scope(|scope| {
            let workers: Vec<_> = chunks
                .iter()
                .map(|chunk| scope.spawn(|| visit(scenario, chunk, &visited)))
                .collect();
            let all: std::io::Result<Vec<_>> = workers
                .into_iter()
                .map(|worker| {
                    worker
                        .join()
                        .unwrap_or_else(|_| Err(std::io::Error::other("a state panicked")))
                })
                .collect();
            all
        })?;
        let mut next = Vec::new();
        for reached in reached.into_iter().flatten() {
            exploration.moves += 1;
            let Some(node) = reached.node.filter(|_| visited.insert(reached.hash)) else {
                continue;
            };
            if !reached.wrong.is_empty() {
                exploration.finding = Some(Finding {
                    what: reached.wrong,
                    moves: told(&node.story),
                });
                exploration.states = visited.len();
                exploration.complete = false;
                return Ok(exploration);
            }
            next.push(node);
        }
        frontier = next;
        exploration.depth += usize::from(!frontier.is_empty());
        exploration.states = visited.len();
        if visited.len() >= most_states {
            exploration.complete = frontier.is_empty();
            break;
        }
    }
    Ok(exploration)
}

fn visit(
    scenario: &Scenario,
    nodes: &[Node],
    visited: &HashSet<u64>,
) -> std::io::Result<Vec<Reached>> {
    let runtime = runtime()?;
    let (mut reached, mut sums) = (Vec::new(), Sums::default());
    for node in nodes {
        for next in &node.moves {
            let one = runtime.block_on(tokio::task::unconstrained(try_move(
                scenario,
                (node, *next),
                visited,
                &mut sums,
            )));
            reached.push(one);
        }
    }
    Ok(reached)
}

/// Plays a state again and makes one more move.
async fn try_move(
    scenario: &Scenario,
    (node, next): (&Node, Move),
    visited: &HashSet<u64>,
    sums: &mut Sums,
) -> Reached {
    let mut world = SmallWorld::from_begin(scenario, &node.begin);
    for earlier in &node.since {
        world.make(*earlier).await;
    }
    let label = world.label(next);
    world.make(next).await;
    let hash = world.hash(sums);
    if visited.contains(&hash) {
        return Reached {
            hash,
            node: None,
            wrong: Vec::new(),
        };
    }
    let moves = world.moves();
    let wrong = world.wrong(moves.is_empty());
    let (begin, since) = if world.is_still() {
        (Arc::new(world.begin()), Vec::new())
    } else {
        let mut since = node.since.clone();
        since.push(next);
        (Arc::clone(&node.begin), since)
    };
    let story = Arc::new(Story {
        before: Some(Arc::clone(&node.story)),
        label,
    });
    Reached {
        hash,
        node: Some(Node {
            begin,
            since,
            moves,
            story,
        }),
        wrong,
    }
}

fn told(story: &Arc<Story>) -> Vec<String> {
    let mut labels = Vec::new();
    let mut at = Some(story);
    while let Some(story) = at {
        labels.push(story.label.clone());
        at = story.before.as_ref();
    }
    labels.reverse();
    labels
}

fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
}

/// A long story is dropped link by link, not by recursion.
impl Drop for Story {
    fn drop(&mut self) {
        let mut next = self.before.take();
        while let Some(story) = next {
            next = Arc::into_inner(story).and_then(|mut story| story.before.take());
        }
    }
}
