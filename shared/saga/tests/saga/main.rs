//! The drive loop in a world of its own: memory table, scripted gateway and bus, paused time. [`world`] first, then [`straight`].

#[cfg(test)]
mod world;

#[cfg(test)]
mod straight;

#[cfg(test)]
mod sweeper;

#[cfg(test)]
mod races;

#[cfg(test)]
mod buyers;

#[cfg(test)]
mod interleavings;

#[cfg(test)]
mod harness;

#[cfg(test)]
mod broken;

#[cfg(test)]
mod http;

#[cfg(test)]
mod records;
