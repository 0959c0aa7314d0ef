"""A page whose model computes beside it, as its reader uses it."""


class LivePage:
    """The page `book/name`, whose elements have ids that begin with `prefix`."""

    def __init__(self, visit, address: str, name: str, prefix: str, fragment: str = ""):
        self.page = visit(f"{address}/book/{name}.html{fragment}", covered=True)
        self.prefix = prefix

    def at(self, name: str):
        return self.page.locator(f"#{self.prefix}-{name}")

    def text(self, name: str) -> str:
        return self.at(name).inner_text()

    def load(self):
        self.at("load").click()
        self.page.wait_for_selector(f"#{self.prefix}[data-viewed]")
        return self

    def take_model(self, name: str):
        """Let scripts of tests use the model and its file, which the browser forgets, so that other tests load it."""
        self.page.evaluate(
            """async (name) => {
              const [room] = await caches.keys(), [answer] = await (await caches.open(room)).matchAll();
              globalThis.file = await answer.arrayBuffer();
              globalThis.model = globalThis[name](attentionLayer());
              model.prepare(file);
              await caches.delete(room);
            }""",
            name,
        )
        return self

    def wait_for(self, event: str, action):
        # Otherwise the end of something earlier would be taken for the end of the action.
        self.page.wait_for_selector(f"#{self.prefix}[data-viewed]")
        self.page.locator(f"#{self.prefix}").evaluate("(root, event) => { delete root.dataset[event]; }", event)
        action()
        self.page.wait_for_selector(f"#{self.prefix}[data-{event}]")
        return self

    def type(self, text: str):
        self.page.mouse.move(0, 0)  # the page may scroll, and what comes below the pointer would be followed
        return self.wait_for("viewed", lambda: self.at("text").fill(text))

    def go_to(self, fragment: str):
        return self.wait_for("viewed", lambda: self.page.evaluate("hash => { location.hash = hash; }", fragment))
