/* C interface of the bridge, in libjitc_executor.so: what ranks of this node publish, in segments of
 * communicators and on the board, is sent to the nodes of other ranks, and what comes from there is written
 * here. The transport is the caller's. Called by: jitc.proxy.common.bridge_library.
 *
 * Functions that fail return NULL or a negative value and leave a text for jitc_bridge_message(). All
 * functions but create and destroy may be called by any thread; of collect and apply, those for one peer run
 * one after the other.
 *
 * Contract with the transport: peers are numbers that the service gives to other nodes. Bytes of collect for
 * a peer go to that node's apply, in order and whole, as long as one connection lasts. When a connection is
 * over, jitc_bridge_cut comes before the first bytes of the next one, on both nodes.
 *
 * Contract with the service, in this order: slots for sessions of other nodes are entered (jitc_board_enter),
 * the document of jitc_bridge_mirror names them, a communicator is linked. At a fence: the document with the
 * new epoch, then jitc_board_begin, and Resume only when all nodes have done that. Before a slot is left, the
 * document does not name it any more.
 *
 * Wire format, version 1: a message is a sequence of frames. All numbers are little-endian. A frame is: u16
 * mark 0x4a42, u8 version, u8 kind, u32 bytes of payload (at most 262,144), u64 subject, payload. Kinds, with
 * the subject in brackets:
 * 1. linked (link): u32 ranks. The sender has linked the communicator, and takes frames of it.
 * 2. unlinked (link): nothing. No frame of the link follows.
 * 3. wanted (0): (u64 session, u64 request)*: all sessions of the receiver that the sender mirrors. One with
 * another request than before is sent as a whole.
 * 4. names (session): u64 request, epoch, names*: all communicators of the session.
 * 5. history (session): u64 request, epoch, u32 words in all, u32 first, u64 words*: a part of RankHistory.
 * 6. counters (session): u64 request, epoch, prepared, reached, begun, unskippable, alone. After the frames
 * of both other kinds that belong to them.
 * 7. absent (link): u32 count, ranks*, text: ranks that have ended. After all that they published.
 * 8. joined (link): u32 rank.
 * 9. box (link): u32 rank, offset, u64 round, bytes.
 * 10. round (link): u32 rank, turn, u64 round, descriptor (u32 kind, type, reduction, i32 root, u64 count,
 * step, i32 color, key, u64 sequence, bytes of the box). After all parts of the box.
 * 11. letters (link): u32 from, to, u64 position, bytes.
 * 12. read (link): u32 from, to, u64 position that `to` has read up to.
 * 13. arrival (link): u32 rank, u64 token, splits posted, and of both boxes color and key, sequence.
 * 14. unique_id (link): u64 edition, 128 bytes, u64 token of each rank.
 * 15. requested (link): nothing. The communicator is wanted now.
 *
 * Frames of the kinds 7 to 15 go to a peer from which `linked` has come; frames of links and sessions that
 * are unknown, such as those that have just ended, are dropped. A rank's first frame (8, 13) comes after its
 * session's frames (4 to 6). A frame of a rank that is not on the sender's node is malformed, and so is one
 * that is out of order. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifndef JITC_API
#define JITC_API __attribute__((visibility("default")))
#endif

typedef struct jitc_bridge jitc_bridge; /* one per board */

/* The least room for jitc_bridge_collect. */
#define JITC_BRIDGE_LEAST_ROOM 131072

/* Maps the board and announces the bridge on it. */
JITC_API jitc_bridge* jitc_bridge_create(const char* board_path);
/* Ends the bridge. Ranks of communicators that are linked cannot reach the others any more. */
JITC_API void jitc_bridge_destroy(jitc_bridge*);
JITC_API const char* jitc_bridge_message(void); /* of this thread */

/* Links a communicator with ranks on other nodes: {"link": number, the same on all nodes and never used
 * again, "kind": "software" or "cuda", "path": of the segment, "bytes": of it, "identity": number, "ranks":
 * count, "here": [rank], "elsewhere": [{"peer": number, "ranks": [rank]}]}. A link that is there already
 * stays. */
JITC_API int jitc_bridge_link(jitc_bridge*, const char* description_json);
/* Unlinks it, if it is linked. What ranks here have published before is still sent, by the next calls of
 * collect. */
JITC_API int jitc_bridge_unlink(jitc_bridge*, uint64_t link);
/* Sets which slots here are shown to whom, and which show sessions of other nodes: {"local": [{"slot": index,
 * "session": number, "peers": [number]}], "remote": [{"peer": number, "session": number there, "slot": index,
 * "epoch": number}], "epoch": number}. An epoch is the least whose frames count from now on; that of the
 * document is for entries without one. Replaces the document before. When it returns, no older frame is
 * written any more. */
JITC_API int jitc_bridge_mirror(jitc_bridge*, const char* document_json);

/* Writes frames for a peer, whole ones only. Waits up to timeout_ms for some. Returns their bytes; 0: none
 * came. */
JITC_API int64_t jitc_bridge_collect(jitc_bridge*, uint32_t peer, uint8_t* out, size_t room, int timeout_ms);
/* Takes frames that came from a peer, whole ones. -1: malformed; the connection must be ended. Frames before
 * the malformed one have been taken. */
JITC_API int jitc_bridge_apply(jitc_bridge*, uint32_t peer, const uint8_t* bytes, size_t size);
/* Notes that the connection with a peer is over, with the reason: communicators with ranks of it fail. */
JITC_API int jitc_bridge_cut(jitc_bridge*, uint32_t peer, const char* why);

/* Returns {"links": count, "peers": [{"peer": number, "sent": {kind: {"frames": count, "bytes": count}},
 * "received": the same, "dropped": frames}]}, to be freed with jitc_bridge_release. */
JITC_API int jitc_bridge_counters(jitc_bridge*, char** reply_json);
JITC_API void jitc_bridge_release(char*);
#ifdef __cplusplus
}
#endif
