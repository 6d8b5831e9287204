// What this browser keeps: drafts and answers not yet sent, each under a key of its own, so that two tabs never write over
// one another. Where storage is forbidden the page keeps it in memory, and says so.

const memory = new Map();

// One text for equal answers, whatever the order of their fields and whether an empty one is named.
export function canonical(value) {
  return JSON.stringify(value, (_, part) => {
    if (part === null || typeof part !== "object" || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).filter(([, one]) => one !== null).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

export class Keep {
  constructor(campaign, annotator, store = globalThis.localStorage) {
    this.prefix = `summeter:${campaign}:${annotator}:`;
    this.store = store;
    this.lasting = this.probe();
  }

  probe() {
    try {
      this.store.setItem(`${this.prefix}probe`, "1");
      this.store.removeItem(`${this.prefix}probe`);
      return true;
    } catch (error) {
      return false;
    }
  }

  // False where it is kept in memory only.
  set(name, value) {
    const text = JSON.stringify(value);
    try {
      this.store.setItem(this.prefix + name, text);
      memory.delete(this.prefix + name);
      return true;
    } catch (error) {
      memory.set(this.prefix + name, text);
      this.lasting = false;
      return false;
    }
  }

  get(name) {
    let text = memory.get(this.prefix + name) ?? null;
    try {
      text = text ?? this.store.getItem(this.prefix + name);
      return text === null ? null : JSON.parse(text);
    } catch (error) {
      return null;
    }
  }

  remove(name) {
    memory.delete(this.prefix + name);
    try {
      this.store.removeItem(this.prefix + name);
    } catch (error) {
      // Nothing can be kept here, so there is nothing to remove.
    }
  }

  names(start) {
    const found = new Set(memory.keys());
    try {
      for (let at = 0; at < this.store.length; at += 1) found.add(this.store.key(at));
    } catch (error) {
      // Memory alone, then.
    }
    return [...found].filter((name) => name.startsWith(this.prefix + start)).map((name) => name.slice(this.prefix.length));
  }
}

// The draft of one task. It is bound to the answer the server had when it was begun: a newer answer, given on another device
// or in another tab, makes it stale.
export class Drafts {
  constructor(keep) {
    this.keep = keep;
  }

  read(task) {
    const draft = this.keep.get(`draft:${task.id}`);
    if (draft === null) return null;
    if (draft.base === canonical(task.answer)) return draft;
    this.forget(task);
    return null;
  }

  write(task, state, seconds) {
    return this.keep.set(`draft:${task.id}`, { base: canonical(task.answer), state, seconds });
  }

  forget(task) {
    this.keep.remove(`draft:${task.id}`);
  }

  // Drafts of tasks that are no longer this person's.
  prune(tasks) {
    const alive = new Set(tasks.map((task) => `draft:${task.id}`));
    for (const name of this.keep.names("draft:")) if (!alive.has(name)) this.keep.remove(name);
  }
}
