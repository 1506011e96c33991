// One connection of this page to its gateway, kept open. See docs/protocol.md, section 10.
export const socket = new WebSocket(`ws://${location.host}/bind`);
