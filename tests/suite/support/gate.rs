//! A door in front of a server. Closed, nobody answers at its address, as if the server had stopped.

use std::net::SocketAddr;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

/// An address that leads to a server while it is open.
#[derive(Debug)]
pub(crate) struct Gate {
    address: SocketAddr,
    server: String,
    open: Option<AbortHandle>,
}

impl Gate {
    /// An open door to the server at that URL.
    pub(crate) async fn to(url: &str) -> Self {
        let server = url.strip_prefix("http://").unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let open = Some(serve(listener, server.clone()));
        Self {
            address,
            server,
            open,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Leads to another server from its next opening on.
    pub(crate) fn leads_to(&mut self, url: &str) {
        url.strip_prefix("http://")
            .unwrap()
            .clone_into(&mut self.server);
    }

    /// Refuses everybody, and cuts who is inside.
    pub(crate) fn close(&mut self) {
        if let Some(open) = self.open.take() {
            open.abort();
        }
    }

    pub(crate) async fn open(&mut self) {
        self.close();
        let listener = TcpListener::bind(self.address).await.unwrap();
        self.open = Some(serve(listener, self.server.clone()));
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.close();
    }
}

/// The connections belong to the task: they end with it.
fn serve(listener: TcpListener, server: String) -> AbortHandle {
    let accept = async move {
        let mut connections = JoinSet::new();
        while let Ok((mut client, _)) = listener.accept().await {
            let server = server.clone();
            connections.spawn(async move {
                let mut inside = TcpStream::connect(server).await?;
                copy_bidirectional(&mut client, &mut inside).await
            });
        }
    };
    tokio::spawn(accept).abort_handle()
}
