/** The renderer of Markdown, a chunk of its own: texts are shown plain until it is here. */

type Render = (text: string, level?: number) => string;

class Renderer {
  /** Safe HTML of a text; null until the chunk is loaded, or for good without it. */
  render = $state.raw<Render | null>(null);

  constructor() {
    void this.load();
  }

  private async load(): Promise<void> {
    try {
      this.render = (await import("./markdown.ts")).renderMarkdown;
    } catch {
      // The server is gone: the texts stay readable, and the page says that the connection is lost.
      this.render = null;
    }
  }
}

export const renderer = new Renderer();
