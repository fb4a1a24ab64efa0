//! Who may go on: every call to table, gateway or bus waits here for its turn, and every task runs only when it is polled from here.
//!
//! A single thread, no executor but this one. A task is a future; it stands still at each call until the director grants it, with a
//! [`Fate`] that says how the call goes. Timers are tokio's, on paused time: it moves only while [`Floor::rest`] waits, and then straight to the
//! next timer. So the order of everything follows from the director's choices. A crash is a task dropped where it stands.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use tokio::time::{Instant, timeout_at};

use super::call::{Call, Fate};

/// A call that waits for its turn.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    pub(super) id: u64,
    pub(super) task: u32,
    pub(super) call: Call,
    pub(super) about: String,
}

/// What a task came to.
pub(super) type Work<R> = Pin<Box<dyn Future<Output = R> + Send>>;

#[derive(Debug, Default)]
struct State {
    current: u32,
    next_call: u64,
    calls: BTreeMap<u64, Entry>,
    ready: VecDeque<u32>,
    outer: Option<Waker>,
}

#[derive(Debug)]
struct Entry {
    waiting: Waiting,
    fate: Option<Fate>,
    waker: Option<Waker>,
}

/// The state that parts and director share.
#[derive(Debug, Clone, Default)]
pub(super) struct Floor(Arc<Mutex<State>>);

/// The tasks of a world.
pub(super) struct Tasks<R> {
    floor: Floor,
    next: u32,
    running: BTreeMap<u32, (Work<R>, Waker)>,
}

/// Waits until the director grants a call.
#[derive(Debug)]
pub(super) struct Turn {
    floor: Floor,
    id: u64,
}

struct Bell {
    floor: Floor,
    task: u32,
}

impl Floor {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call of the running task.
    pub(super) fn turn(&self, call: Call, about: String) -> Turn {
        let mut state = self.lock();
        state.next_call += 1;
        let id = state.next_call;
        let waiting = Waiting {
            id,
            task: state.current,
            call,
            about,
        };
        let entry = Entry {
            waiting,
            fate: None,
            waker: None,
        };
        state.calls.insert(id, entry);
        Turn {
            floor: self.clone(),
            id,
        }
    }

    /// The calls that wait, oldest first.
    pub(super) fn waiting(&self) -> Vec<Waiting> {
        let state = self.lock();
        let ungranted = state.calls.values().filter(|entry| entry.fate.is_none());
        ungranted.map(|entry| entry.waiting.clone()).collect()
    }

    /// How many calls wait.
    pub(super) fn waiting_count(&self) -> usize {
        self.lock().calls.len()
    }

    /// The `nth` waiting call, oldest first.
    pub(super) fn nth_waiting(&self, nth: usize) -> Option<Waiting> {
        let state = self.lock();
        state
            .calls
            .values()
            .nth(nth)
            .map(|entry| entry.waiting.clone())
    }

    /// Lets a call go on.
    pub(super) fn grant(&self, id: u64, fate: Fate) {
        let waker = self.lock().calls.get_mut(&id).and_then(|entry| {
            entry.fate = Some(fate);
            entry.waker.take()
        });
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn ring(&self, task: u32) {
        let outer = {
            let mut state = self.lock();
            if !state.ready.contains(&task) {
                state.ready.push_back(task);
            }
            state.outer.take()
        };
        if let Some(outer) = outer {
            outer.wake();
        }
    }

    /// Lets time pass until a task can go on, at most up to `until`.
    pub(super) async fn rest(&self, until: Instant) {
        let rung = std::future::poll_fn(|cx| {
            let mut state = self.lock();
            if state.ready.is_empty() {
                state.outer = Some(cx.waker().clone());
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        });
        // Both ends are what is wanted.
        let _ = timeout_at(until, rung).await;
    }

    /// Lets time pass while every process is frozen, whatever becomes ready.
    pub(super) async fn freeze(&self, until: Instant) {
        // Elapses by design: nothing is waited for but the time.
        let _ = timeout_at(until, std::future::pending::<()>()).await;
    }
}

impl<R> Tasks<R> {
    pub(super) fn new(floor: Floor) -> Self {
        Self {
            floor,
            next: 0,
            running: BTreeMap::new(),
        }
    }

    /// A new task; it begins with the next [`Tasks::settle`].
    pub(super) fn start(&mut self, work: Work<R>) -> u32 {
        self.next += 1;
        let task = self.next;
        let bell = Bell {
            floor: self.floor.clone(),
            task,
        };
        self.running
            .insert(task, (work, Waker::from(Arc::new(bell))));
        self.floor.ring(task);
        task
    }

    /// Ends a task where it stands.
    pub(super) fn crash(&mut self, task: u32) -> bool {
        self.running.remove(&task).is_some()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.running.len()
    }

    /// Polls whatever can go on, until everything waits: for a turn, or for time to pass.
    pub(super) fn settle(&mut self, mut done: impl FnMut(u32, R)) {
        loop {
            let task = {
                let mut state = self.floor.lock();
                let Some(task) = state.ready.pop_front() else {
                    return;
                };
                state.current = task;
                task
            };
            let Some((work, waker)) = self.running.get_mut(&task) else {
                continue;
            };
            let waker = waker.clone();
            if let Poll::Ready(result) = work.as_mut().poll(&mut Context::from_waker(&waker)) {
                self.running.remove(&task);
                done(task, result);
            }
        }
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.floor.ring(self.task);
    }
}

impl Future for Turn {
    type Output = Fate;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Fate> {
        let mut state = self.floor.lock();
        match state.calls.get_mut(&self.id) {
            Some(entry) => match entry.fate {
                Some(fate) => {
                    state.calls.remove(&self.id);
                    Poll::Ready(fate)
                }
                None => {
                    entry.waker = Some(cx.waker().clone());
                    Poll::Pending
                }
            },
            // Taken already: polled once more than a future may be.
            None => Poll::Pending,
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.floor.lock().calls.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn world() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap()
    }

    fn names(floor: &Floor) -> Vec<String> {
        floor
            .waiting()
            .into_iter()
            .map(|waiting| waiting.about)
            .collect()
    }

    #[test]
    fn a_task_stands_at_its_call_until_it_is_granted_and_hears_its_fate() {
        let floor = Floor::default();
        let mut tasks = Tasks::new(floor.clone());
        for name in ["a", "b"] {
            let floor = floor.clone();
            tasks.start(Box::pin(async move {
                floor.turn(Call::Get, name.to_owned()).await
            }));
        }
        let mut done = Vec::new();
        tasks.settle(|task, fate| done.push((task, fate)));
        assert_eq!(names(&floor), ["a", "b"]);
        let second = floor.nth_waiting(1).unwrap();
        floor.grant(second.id, Fate::Throttled);
        tasks.settle(|task, fate| done.push((task, fate)));
        assert_eq!(done, [(2, Fate::Throttled)]);
        assert_eq!((names(&floor), tasks.len()), (vec!["a".to_owned()], 1));
    }

    #[test]
    fn a_crashed_task_takes_its_calls_with_it() {
        let floor = Floor::default();
        let mut tasks = Tasks::new(floor.clone());
        let there = floor.clone();
        let task = tasks.start(Box::pin(async move {
            there.turn(Call::Charge, "a".to_owned()).await
        }));
        tasks.settle(|_, _| panic!("it waits"));
        assert!(tasks.crash(task));
        assert!(!tasks.crash(task));
        assert_eq!((floor.waiting_count(), tasks.is_empty()), (0, true));
    }

    #[test]
    fn rest_goes_straight_to_the_next_timer_and_freeze_past_it() {
        world().block_on(async {
            let floor = Floor::default();
            let mut tasks = Tasks::new(floor.clone());
            let begun = Instant::now();
            for seconds in [5, 9] {
                tasks.start(Box::pin(async move {
                    timeout_at(
                        begun + Duration::from_secs(seconds),
                        std::future::pending::<()>(),
                    )
                    .await
                    .is_err()
                }));
            }
            let mut done = Vec::new();
            tasks.settle(|task, _| done.push(task));
            floor.rest(begun + Duration::from_secs(60)).await;
            assert!(begun.elapsed() < Duration::from_secs(6));
            tasks.settle(|task, _| done.push(task));
            assert_eq!(done, [1]);
            floor.freeze(begun + Duration::from_secs(60)).await;
            assert!(begun.elapsed() >= Duration::from_secs(60));
            tasks.settle(|task, _| done.push(task));
            assert_eq!(done, [1, 2]);
        });
    }
}
