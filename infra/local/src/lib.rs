//! Starts and stops the local stack: a local AWS, an OpenSearch server, the deployed template.
//!
//! It is for `cargo xtask`, the demo and the integration tests: it installs what they need under `.local/`, starts the two servers on free ports of
//! the loopback interface, deploys `infra/template.yaml` and answers with the environment that every processor, test and command line needs.
//! It refuses to know what an order is, and it starts no function: the mapping runner hosts those, from [`Deployment::runner`].
//!
//! No process stays behind. Every child holds the reading end of a pipe whose writing end is here, and exits when it closes: after [`Stack::stop`],
//! on drop, and also when this process is killed. Children have their own process group, so Ctrl-C reaches the caller alone, who decides on the order.
//!
//! ```no_run
//! use sagaline_local::{Progress, Stack, StackOptions};
//! # fn main() -> anyhow::Result<()> {
//! let stack = Stack::start(&StackOptions::default(), &Progress::stderr())?;
//! println!("table {:?} at {}", stack.env().get("ORDERS_TABLE"), stack.aws_url());
//! stack.stop();
//! # Ok(())
//! # }
//! ```
//!
//! Start reading at [`stack`]; [`setup`] is what runs once, [`server`] the life of one child.

mod deploy;
mod opensearch;
mod prerequisites;
mod progress;
mod root;
mod rundir;
mod server;
mod setup;
mod stack;
mod tool;

pub use deploy::{DEFAULT_NAME, DeployOptions, Deployment, bootstraps_in};
pub use opensearch::OpenSearch;
pub use prerequisites::check as check_prerequisites;
pub use progress::{Progress, Step};
pub use root::root;
pub use setup::{Installed, install, install_python};
pub use stack::{STACK_FILE_VARIABLE, Stack, StackOptions};
