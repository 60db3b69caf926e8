// Whole-number expressions as they stand between the brackets of a subscript, evaluated without
// `eval`: + - * // % ^ & | ~ << >>, parentheses, numbers, and the names that are handed in.
// Python's meaning: its precedence, // and % round down, integers have no end (BigInt).

const LONGEST = 200;
const DEEPEST = 40;
const MOST_BITS = 80n;
const TOKEN = /\s*(?:(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)|([A-Za-z_]\w*)|(\/\/|<<|>>|[-+*%^&|~()[\],]))/y;

// Binary operators by rising precedence, as in Python.
const LEVELS = [["|"], ["^"], ["&"], ["<<", ">>"], ["+", "-"], ["*", "//", "%"]];

export class ExpressionError extends Error {
  constructor(message, at) {
    super(message);
    this.at = at; // place in the text
  }
}

// One or two subscripts, also as they stand in a kernel: `lane * 33`, `tx, ty`, `tile[tx, ty]`.
// Returns trees, to be valued by `valueOf`.
export function parse(text, names) {
  const tokens = tokensOf(text);
  const reader = { tokens, at: 0, depth: 0, names, text };
  const named = tokens[0]?.kind === "name" && tokens[1]?.text === "[";
  if (named) reader.at = 2;
  const parts = [level(reader, 0)];
  while (next(reader) === ",") {
    reader.at += 1;
    parts.push(level(reader, 0));
  }
  if (named) take(reader, "]");
  if (reader.at < tokens.length) {
    const left = tokens[reader.at];
    throw new ExpressionError(`what is ${left.text} doing here?`, left.at);
  }
  if (parts.length > 2) throw new ExpressionError("a tile has one or two subscripts", 0);
  return parts;
}

// The value of a tree as a BigInt; `values` holds a number per name.
export function valueOf(tree, values) {
  if (tree.number !== undefined) return tree.number;
  if (tree.name !== undefined) return BigInt(values[tree.name]);
  const right = valueOf(tree.right, values);
  if (tree.left === undefined) return tree.op === "-" ? -right : tree.op === "~" ? ~right : right;
  const left = valueOf(tree.left, values);
  const value = operate(tree, left, right);
  if (value >> MOST_BITS > 0n || value >> MOST_BITS < -1n) {
    throw new ExpressionError("this number is too large for an index", tree.at);
  }
  return value;
}

// The names that trees use.
export function namesIn(trees) {
  const found = new Set();
  const look = (tree) => {
    if (!tree) return;
    if (tree.name !== undefined) found.add(tree.name);
    look(tree.left);
    look(tree.right);
  };
  trees.forEach(look);
  return found;
}

function tokensOf(text) {
  if (text.length > LONGEST) {
    throw new ExpressionError(`an index has at most ${LONGEST} letters here`, LONGEST);
  }
  const tokens = [];
  const end = text.trimEnd().length;
  let at = 0;
  while (at < end) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (!match) {
      const place = at + text.slice(at).search(/\S/);
      throw new ExpressionError(unknown(text, place), place);
    }
    const [, number, name, op] = match;
    const word = number ?? name ?? op;
    const kind = number !== undefined ? "number" : name !== undefined ? "name" : "op";
    tokens.push({ kind, text: word, at: TOKEN.lastIndex - word.length });
    at = TOKEN.lastIndex;
  }
  if (!tokens.length) throw new ExpressionError("write an index, such as lane * 33", 0);
  return tokens;
}

function unknown(text, at) {
  if (text[at] === "/") return "write // : an index is a whole number";
  return `${text[at]} is not known here`;
}

function next(reader) {
  return reader.tokens[reader.at]?.text;
}

function take(reader, wanted) {
  const token = reader.tokens[reader.at];
  if (token?.text !== wanted) {
    throw new ExpressionError(`${wanted} is missing`, token ? token.at : reader.text.length);
  }
  reader.at += 1;
}

function level(reader, height) {
  if (height === LEVELS.length) return signed(reader);
  let left = level(reader, height + 1);
  while (LEVELS[height].includes(next(reader))) {
    const { text: op, at } = reader.tokens[reader.at];
    reader.at += 1;
    left = { op, at, left, right: level(reader, height + 1) };
  }
  return left;
}

function signed(reader) {
  const token = reader.tokens[reader.at];
  if (token === undefined) throw new ExpressionError("something is missing", reader.text.length);
  reader.depth += 1;
  if (reader.depth > DEEPEST) throw new ExpressionError("too many signs and brackets", token.at);
  reader.at += 1;
  let tree;
  if (["+", "-", "~"].includes(token.text)) {
    tree = { op: token.text, at: token.at, right: signed(reader) };
  } else if (token.text === "(") {
    tree = level(reader, 0);
    take(reader, ")");
  } else if (token.kind === "number") {
    if (/^0\d/.test(token.text) && Number(token.text) !== 0) {
      throw new ExpressionError("a number does not begin with 0", token.at);
    }
    tree = { number: BigInt(token.text), at: token.at };
  } else if (token.kind === "name") {
    if (!reader.names.includes(token.text)) {
      const known = reader.names.join(", ");
      throw new ExpressionError(`${token.text} is not known here; there are ${known}`, token.at);
    }
    tree = { name: token.text, at: token.at };
  } else {
    throw new ExpressionError(`a number or a name is missing before ${token.text}`, token.at);
  }
  reader.depth -= 1;
  return tree;
}

function operate({ op, at }, left, right) {
  switch (op) {
    case "+":
      return left + right;
    case "-":
      return left - right;
    case "*":
      return left * right;
    case "^":
      return left ^ right;
    case "&":
      return left & right;
    case "|":
      return left | right;
    case "<<":
    case ">>":
      if (right < 0n) throw new ExpressionError("a shift by less than 0", at);
      if (op === ">>") return left >> right;
      if (right > MOST_BITS) throw new ExpressionError("a shift by more than 80", at);
      return left << right;
    default: {
      if (right === 0n) throw new ExpressionError("a division by 0", at);
      const rest = left % right;
      const low = rest !== 0n && rest < 0n !== right < 0n; // rounded towards 0, but not down
      return op === "%" ? (low ? rest + right : rest) : left / right - (low ? 1n : 0n);
    }
  }
}
