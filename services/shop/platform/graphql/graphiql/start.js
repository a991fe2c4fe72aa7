const sockets = location.protocol === "https:" ? "wss:" : "ws:";

ReactDOM.createRoot(document.getElementById("graphiql")).render(
  React.createElement(GraphiQL, {
    // Headers of the page's own editor go along with a WebSocket's `connection_init`.
    fetcher: GraphiQL.createFetcher({
      url: "/graphql",
      subscriptionUrl: `${sockets}//${location.host}/graphql/stream`,
    }),
    // What the visitor wrote last comes before it.
    defaultQuery: query,
    defaultEditorToolsVisibility: true,
  }),
);
