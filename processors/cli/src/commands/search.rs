//! `sagaline search`: asks the index; `search init` makes it, `search doctor` checks how it is made, `search backfill` fills it, `search
//! verify` compares it with the table, and `search remap` puts another one in its place.

mod backfill;
mod remap;
mod verify;

use crate::args::Global;
use crate::error::{Code, CommandError};
use crate::output;
use crate::session::{self, vars};
use clap::{Args, Subcommand};
use sagaline_lambda::config::{SearchAuth, SearchServer, SearchVars};
use sagaline_search::admin::{self, Names};
use sagaline_search::{Auth, Page, Query, SearchClient, resolve_domain};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;
use url::Url;

/// A server that takes longer to take a connection is not there.
const CONNECT: Duration = Duration::from_secs(3);

/// Of what was found, so much is shown to people; `--json` has all.
const FEW: usize = 20;

/// Searches orders.
///
/// Free words, `field:value` filters and `-` before what must not be; `sagaline search -- init` searches for the word.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  sagaline search 'mug status:CONFIRMED total_minor:1000..5000'
  sagaline search 'user_id:u-1 sort:-created_at' --limit 5 --json
  sagaline search init
  sagaline search doctor
  sagaline search backfill --state backfill.json
  sagaline search verify --since 2h --repair
  sagaline search remap"
)]
pub(crate) struct Search {
    #[command(subcommand)]
    action: Option<Action>,
    /// What to look for.
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,
    /// The most orders to show.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Where the page before ended, as it was printed.
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Makes what is not there: template, index, aliases.
    Init,
    /// Says what is not as `init` would have it; exit code 1 if anything.
    Doctor,
    /// Writes every order of the table to the index, while live writes go on.
    Backfill(backfill::Backfill),
    /// Compares the index with the table; exit code 1 if they differ.
    Verify(verify::Verify),
    /// Puts a new index with this version's mapping in the place of the old one.
    Remap(remap::Remap),
}

impl Search {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let asked = match &self.action {
            Some(_) => None,
            None => Some(self.question()?),
        };
        let vars = SearchVars::read(&vars())?;
        let client = client(&vars, global).await?;
        let names = Names::new(&vars.alias);
        match (self.action, asked) {
            (Some(Action::Init), _) => tell(
                "done",
                &admin::init(&client, &names).await?,
                "everything was there",
                global.json,
            ),
            (Some(Action::Doctor), _) => {
                let found = admin::doctor(&client, &names).await?;
                tell("found", &found, "nothing is wrong", global.json);
                if !found.is_empty() {
                    return Err(CommandError::new(
                        Code::CheckFailed,
                        format!("{} things are not as they should be", found.len()),
                    )
                    .advise("read the lines above, or run `sagaline search init`"));
                }
            }
            (Some(Action::Backfill(command)), _) => {
                Box::pin(command.run(client, &names, global)).await?;
            }
            (Some(Action::Verify(command)), _) => {
                Box::pin(command.run(client, &names, global)).await?;
            }
            (Some(Action::Remap(command)), _) => {
                Box::pin(command.run(client, &names, global)).await?;
            }
            (None, Some((query, after))) => show(
                &query
                    .run(&client, &vars.alias, self.limit, after.as_ref())
                    .await?,
                global.json,
            ),
            (None, None) => {}
        }
        Ok(())
    }

    /// What is asked, before anyone is asked.
    fn question(&self) -> Result<(Query, Option<Value>), CommandError> {
        let query = Query::parse(&self.query.join(" "))
            .map_err(|bad| CommandError::new(Code::BadInput, format!("query: {bad}")))?;
        let bad = || CommandError::new(Code::BadInput, "--after is no cursor of a search");
        let after: Option<Value> = self
            .after
            .as_deref()
            .map(serde_json::from_str)
            .transpose()
            .map_err(|_| bad())?;
        // Where the last order stands: by what is sorted, then by its id.
        if after
            .as_ref()
            .is_some_and(|after| after.as_array().is_none_or(|parts| parts.len() != 2))
        {
            return Err(bad());
        }
        Ok((query, after))
    }
}

/// A client for the configured server, once that takes a connection.
pub(crate) async fn client(
    vars: &SearchVars,
    global: &Global,
) -> Result<SearchClient, CommandError> {
    let aws = session::aws(global).await?;
    let endpoint = match &vars.server {
        SearchServer::Endpoint(endpoint) => endpoint.clone(),
        SearchServer::Domain(name) => {
            let control = aws_sdk_opensearch::Client::new(aws.sdk());
            let resolved = timeout(CONNECT, resolve_domain(&control, name)).await;
            resolved.map_err(|_| {
                CommandError::new(
                    Code::Search,
                    format!("the domain {name} could not be looked up in time"),
                )
            })??
        }
    };
    reach(&endpoint).await?;
    let auth = match vars.auth {
        SearchAuth::SigV4 => Auth::SigV4,
        SearchAuth::Unsigned => Auth::None,
    };
    Ok(SearchClient::new(endpoint, auth, aws.sdk())?)
}

async fn reach(endpoint: &Url) -> Result<(), CommandError> {
    let away = |why: &str| {
        CommandError::new(
            Code::Search,
            format!("OpenSearch cannot be reached at {endpoint}: {why}"),
        )
    };
    let (Some(host), Some(port)) = (endpoint.host_str(), endpoint.port_or_known_default()) else {
        return Err(away("the URL has no host"));
    };
    // The brackets of an IPv6 address belong to the URL, not to the address.
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match timeout(CONNECT, TcpStream::connect((host, port))).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(away(&error.to_string())),
        Err(_) => Err(away("it takes no connection in time")),
    }
}

fn tell(name: &str, sentences: &[String], none: &str, json: bool) {
    if json {
        output::json(&json!({name: sentences}));
    } else if sentences.is_empty() {
        output::line(none);
    } else {
        sentences.iter().for_each(|sentence| output::line(sentence));
    }
}

fn show(page: &Page, json: bool) {
    if json {
        output::json(&json!({"total": page.total, "orders": page.orders, "next": page.next}));
        return;
    }
    let text = |order: &Value, field: &str| {
        order
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let rows = page.orders.iter().map(|order| {
        let total = order.get("total_minor").and_then(Value::as_i64);
        let total = total
            .map(|minor| output::amount(minor, &text(order, "currency")))
            .unwrap_or_default();
        [
            text(order, "order_id"),
            text(order, "created_at"),
            text(order, "user_id"),
            text(order, "status"),
            total,
        ]
    });
    output::line(&output::table(
        ["order", "placed", "user", "status", "total"],
        rows,
    ));
    eprintln!("{} of {} orders", page.orders.len(), page.total);
    if let Some(next) = &page.next {
        eprintln!("more: --after '{next}'");
    }
}
