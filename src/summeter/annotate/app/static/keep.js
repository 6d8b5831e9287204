// Browser storage of drafts and unsent answers. Each has its own key, so that two tabs do not overwrite each other.
// Without storage the page keeps them in memory and shows a notice.

const memory = new Map();

// Returns the same text for equal answers, regardless of the order of fields and of empty fields.
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

  // False if data is kept in memory only.
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
      // Nothing was stored, so there is nothing to remove.
    }
  }

  names(start) {
    const found = new Set(memory.keys());
    try {
      for (let at = 0; at < this.store.length; at += 1) found.add(this.store.key(at));
    } catch (error) {
      // Keep it in memory only.
    }
    return [...found].filter((name) => name.startsWith(this.prefix + start)).map((name) => name.slice(this.prefix.length));
  }
}

// The draft of a task. It is based on the answer that the server had when the draft was started, so it is outdated if a newer
// answer was given on another device or in another tab.
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

  // Deletes the drafts of tasks that are no longer assigned to this person.
  prune(tasks) {
    const alive = new Set(tasks.map((task) => `draft:${task.id}`));
    for (const name of this.keep.names("draft:")) if (!alive.has(name)) this.keep.remove(name);
  }
}
