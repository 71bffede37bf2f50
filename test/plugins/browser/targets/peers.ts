/** A page that calls peers by WebRTC, and a socket that would get its packets. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import * as assert from "uvu/assert";
import type { BrowserGateway } from "../support.ts";

export interface Peer {
  port: number;
  /** The number of packets. */
  packets(): number;
  stop(): void;
}

export async function startPeer(): Promise<Peer> {
  let packets = 0;
  const socket = createSocket("udp4").on("message", () => packets++);
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return { port: socket.address().port, packets: () => packets, stop: () => void socket.close() };
}

/** Asks STUN and TURN servers at the socket, and calls a peer that is said to be there; the answer is what it found. */
export const call = (port: number): string => `async () => {
  const urls = ["stun:127.0.0.1:${port}", "turn:127.0.0.1:${port}?transport=udp"];
  const servers = { iceServers: urls.map((url) => ({ urls: url, username: "a", credential: "b" })) };
  const [caller, called] = [new RTCPeerConnection(servers), new RTCPeerConnection(servers)];
  const found = [];
  const gathered = [caller, called].map((peer) => new Promise((done) => {
    peer.onicecandidate = ({ candidate }) => candidate ? found.push(candidate.candidate) : done();
  }));
  caller.createDataChannel("data");
  await caller.setLocalDescription();
  await called.setRemoteDescription(caller.localDescription);
  await called.setLocalDescription();
  await caller.setRemoteDescription(called.localDescription);
  await caller.addIceCandidate({ candidate: "candidate:1 1 udp 2113937151 127.0.0.1 ${port} typ host", sdpMid: "0" });
  await Promise.race([Promise.all(gathered), new Promise((done) => setTimeout(done, 3000))]);
  return found;
}`;

/** A page of that address calls, and no UDP comes: `webrtc.test.ts` shows that it would be seen. */
export async function sendsNoUdp(browser: BrowserGateway, url: string): Promise<void> {
  const peer = await startPeer();
  try {
    await browser.visit(url);
    const { status, body } = await browser.act("evaluate", { fn: call(peer.port) });
    assert.is(status, 200, JSON.stringify(body));
    assert.equal(
      body.result.filter((candidate: string) => / udp /i.test(candidate)),
      [],
    );
    // The calls to the peer would follow by now.
    await browser.act("wait", { timeMs: 1000 });
    assert.is(peer.packets(), 0);
  } finally {
    peer.stop();
  }
}
